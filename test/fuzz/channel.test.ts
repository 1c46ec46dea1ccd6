// @test long 30 slow
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createFrameReader, encodeFrame, FrameError } from '../../firmware/channel/frames.ts'
import { readMessage } from '../../firmware/channel/to-boot.ts'
import { readToFirmware } from '../../firmware/channel/to-firmware.ts'
import { cuts, damaged, forAWhile, pieces, seconds } from './support.ts'

const bytes = fc.uint8Array({ maxLength: 300 })
const text = fc.string({ maxLength: 40 })
const step = fc.oneof(
  fc.record({ do: fc.constant('begin'), manifest: bytes, signature: bytes }),
  fc.record({ do: fc.constant('write'), name: text, bytes }),
  fc.record({ do: fc.constantFrom('finish', 'activate', 'discard', 'other') }),
)
const message = fc.oneof(
  fc.record({ type: fc.constantFrom('pong', 'ping', 'stop', 'good', 'listening', 'network', 'start') }),
  fc.record({ type: fc.constant('state'), state: fc.constantFrom('Locked', 'Failed', 'Open'), reason: text }),
  fc.record({ type: fc.constant('request'), action: fc.constantFrom('reboot', 'shutdown', 'execute') }),
  fc.record({ type: fc.constant('slot'), step }),
  fc.record({ type: fc.constant('unlock'), passphrase: bytes }),
  fc.record({ type: fc.constant('slotResult'), problem: fc.option(text) }),
  fc.object({ maxDepth: 4 }),
)
const talk = fc
  .array(message, { minLength: 1, maxLength: 4 })
  .map((messages) => Buffer.concat(messages.map(encodeFrame)))

test(`whatever comes through the channel is a message or a refused frame, for ${seconds} s`, async (t) => {
  let refused = 0
  const runs = await forAWhile(fc.tuple(damaged(talk), cuts), ([talk, cuts]) => {
    const reader = createFrameReader()
    try {
      for (const piece of pieces(talk, cuts))
        for (const value of reader.push(piece)) {
          readMessage(value)
          readToFirmware(value)
        }
    } catch (error) {
      assert.ok(error instanceof FrameError, error as Error)
      refused++
    }
  })
  t.diagnostic(`${runs} runs, ${refused} refused`)
  assert.ok(refused > 0 && refused < runs)
})
