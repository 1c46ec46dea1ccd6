/** The pipe between firmware and chat: one firmware, one chat after another, and a boot manager that reads nothing. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createRelay, type Relay } from '../../boot/supervisor/relay.ts'
import { acceptConnections } from '../../firmware/channel/connections.ts'
import { FrameError } from '../../firmware/channel/frames.ts'
import { createSegmentReader, SEGMENT_BYTES_MAX, segmentHead, segmentsOf } from '../../firmware/channel/segments.ts'
import { connected } from './socket-pair.ts'

interface Scene {
  joint: Relay
  firmware: Duplex
  lives: Duplex[]
  refusals: string[]
  startChat(): Promise<Duplex>
}

async function stage(t: TestContext): Promise<Scene> {
  const joint = createRelay('chat')
  const [near, firmware] = await connected(t)
  const [lives, refusals]: [Duplex[], string[]] = [[], []]
  joint.joinFirmware(near, (why) => refusals.push(why))
  acceptConnections(firmware, (stream) => lives.push(stream))
  const startChat = async () => {
    const [near, chat] = await connected(t)
    const before = lives.length
    joint.joinOther(near)
    while (lives.length === before) await nextTurn()
    return chat
  }
  return { joint, firmware, lives, refusals, startChat }
}

async function take(stream: Duplex, bytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  while (length < bytes) {
    const chunk = stream.read() as Buffer | null
    if (chunk === null) await once(stream, 'readable')
    else {
      chunks.push(Buffer.from(chunk))
      length += chunk.length
    }
  }
  return Buffer.concat(chunks)
}

test('bytes of any number pass both ways unchanged', async (t) => {
  const { lives, startChat } = await stage(t)
  const chat = await startChat()
  for (const bytes of [1, 7, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MAX + 1, 300_000]) {
    const [there, back] = [randomBytes(bytes), randomBytes(bytes)]
    lives[0]!.write(Buffer.from(there))
    chat.write(Buffer.from(back))
    assert.deepEqual(await take(chat, bytes), there)
    assert.deepEqual(await take(lives[0]!, bytes), back)
  }
})

test('what one chat was sent or has sent never reaches the next life', async (t) => {
  const { lives, startChat } = await stage(t)
  const first = await startChat()
  lives[0]!.write(Buffer.from('a key for the first'))
  first.write(Buffer.from('half of a mess'))
  await take(lives[0]!, 14)
  const ended = once(lives[0]!, 'close')
  first.destroy()
  const second = await startChat()
  await ended
  lives[0]!.write(Buffer.from('the rest for the first'), () => {})
  lives[1]!.write(Buffer.from('second'))
  second.write(Buffer.from('hello'))
  assert.equal((await take(second, 6)).toString(), 'second')
  assert.equal((await take(lives[1]!, 5)).toString(), 'hello')
})

test('a chat that is started before the other has gone takes its place', async (t) => {
  const { lives, startChat } = await stage(t)
  await startChat()
  const second = await startChat()
  assert.equal(lives[0]!.destroyed, true)
  lives[1]!.write(Buffer.from('x'))
  assert.equal((await take(second, 1)).toString(), 'x')
})

test('a chat that reads nothing makes the firmware wait, and what is sent meanwhile is bounded', async (t) => {
  const { lives, startChat } = await stage(t)
  const chat = await startChat()
  let written = 0
  const piece = Buffer.alloc(32 * 1024)
  let goesOn = true
  while (goesOn) {
    goesOn = lives[0]!.write(Buffer.from(piece))
    written += piece.length
    for (let turn = 0; turn < 20; turn++) await nextTurn()
    assert.ok(written < 1024 * piece.length, 'nobody waits')
  }
  const sent = await take(chat, written)
  assert.equal(sent.length, written)
})

test('a firmware that is slow makes the chat wait, and loses nothing', async (t) => {
  const { lives, startChat } = await stage(t)
  const chat = await startChat()
  const sent = randomBytes(1_000_000)
  chat.write(Buffer.from(sent))
  for (let turn = 0; turn < 50; turn++) await nextTurn()
  assert.deepEqual(await take(lives[0]!, sent.length), sent)
})

test('with the firmware the chat loses its end', async (t) => {
  const { firmware, startChat } = await stage(t)
  const chat = await startChat()
  const ended = once(chat, 'close')
  chat.resume()
  firmware.destroy()
  await ended
})

test('a chat without a firmware is refused', async (t) => {
  const joint = createRelay('chat')
  const [near] = await connected(t)
  joint.joinOther(near)
  assert.equal(near.destroyed, true)
})

test('a segment longer than any ends the relay, for any receiver', async (t) => {
  const { firmware, refusals, startChat } = await stage(t)
  await startChat()
  firmware.write(segmentHead(1, SEGMENT_BYTES_MAX + 1))
  while (refusals.length === 0) await nextTurn()
  assert.match(refusals[0]!, /sent the chat something that is not a message: a segment has more than 65536 bytes/)
})

test('the firmware reaches no life but the present one', async (t) => {
  const { firmware, lives, startChat } = await stage(t)
  const chat = await startChat()
  for (const life of [0, 2, 0xffffffff]) {
    firmware.write(segmentHead(life, 5))
    firmware.write(Buffer.from('wrong'))
  }
  lives[0]!.write(Buffer.from('right'))
  assert.equal((await take(chat, 5)).toString(), 'right')
})

test('segments are the same however they are cut', () => {
  const sent = [randomBytes(10), randomBytes(1), randomBytes(5000), randomBytes(100)]
  const stream = Buffer.concat(sent.flatMap((bytes, life) => [segmentHead(life, bytes.length), bytes]))
  for (const step of [1, 3, 8, 9, 4096, stream.length]) {
    const got = new Map<number, Buffer>()
    const read = createSegmentReader((life, bytes) =>
      got.set(life, Buffer.concat([got.get(life) ?? Buffer.alloc(0), bytes])),
    )
    for (let at = 0; at < stream.length; at += step) read(stream.subarray(at, at + step))
    assert.deepEqual([...got.values()], sent, `cut after every ${step} bytes`)
  }
  assert.throws(() => createSegmentReader(() => {})(segmentHead(1, SEGMENT_BYTES_MAX + 1)), FrameError)
  assert.deepEqual([...segmentsOf(new Uint8Array(0))], [])
})
