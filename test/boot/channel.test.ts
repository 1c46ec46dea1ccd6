/** The channel between boot manager and firmware: whatever a firmware writes to it, the boot manager goes on. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { serialize } from 'node:v8'
import { createSupervisor } from '../../boot/supervisor/supervisor.ts'
import { openChannel } from '../../firmware/channel/channel.ts'
import {
  createFrameReader,
  encodeFrame,
  FrameError,
  RAW_BYTES_MAX,
  TEXT_BYTES_MAX,
} from '../../firmware/channel/frames.ts'
import type { ToFirmware } from '../../firmware/channel/protocol.ts'
import { readToFirmware } from '../../firmware/channel/to-firmware.ts'
import { smallFirmware } from './small-firmware.ts'

const DEADLINE_MS = 30_000
const GROWTH_BYTES_MAX = 128 * 1024 * 1024 // of the boot manager, which is this process; an attack would take a gigabyte

const frame = (text: string | Uint8Array, raw: Uint8Array = new Uint8Array()): Buffer => {
  const head = Buffer.alloc(8)
  head.writeUInt32BE(Buffer.from(text).length, 0)
  head.writeUInt32BE(raw.length, 4)
  return Buffer.concat([head, Buffer.from(text), raw])
}

/** As Node frames messages of its own channels with `serialization: 'advanced'`. */
const nodeFrame = (message: object): Buffer => {
  const body = serialize(message)
  const head = Buffer.alloc(4)
  head.writeUInt32BE(body.length)
  return Buffer.concat([head, body])
}

const MESSAGES: ToFirmware[] = [
  { type: 'chatDown', problem: 'it ended with SIGKILL 3 times in a row' },
  { type: 'ping' },
  { type: 'stop' },
  { type: 'good' },
  { type: 'keep', minimum: '1.0', count: 7 },
  { type: 'keep', minimum: '1.0', count: null },
  { type: 'unlock', passphrase: Uint8Array.of(1, 2, 3) },
  { type: 'requestResult', problem: null },
  { type: 'requestResult', problem: 'x' },
  { type: 'slotResult', problem: null },
  { type: 'slotResult', problem: 'x', conflict: true },
  { type: 'etcdResult', problem: null, hasData: true, state: { running: true } },
  { type: 'etcdResult', problem: 'x', conflict: true, hasData: false, state: { running: false, exited: 1 } },
  { type: 'etcdState', state: { running: false, signaled: 9 } },
  { type: 'etcdEnded', problem: 'ended with SIGKILL', isRemoved: false },
  { type: 'etcdLines', lines: ['warning etcd: x', ''] },
  {
    type: 'start',
    settings: {
      dataDirectory: '/data',
      host: '::',
      port: 8443,
      httpPort: 8080,
      furtherHttpPorts: [80],
      logLevel: 'info',
      releaseKey: new Uint8Array(32).fill(9),
      chat: { directory: '/data/chat', port: 9443, portChoices: [9443, 443] },
      etcd: { socket: '/data/etcd/etcd:0', isolatedMaxMs: 60_000 },
    },
    deviceKey: new Uint8Array(32).fill(7),
    withheld: 'why',
    count: 7,
    software: { trial: true, fallback: 'text' },
  },
]

test('a message is the same on the other side, however it is cut', () => {
  const bytes = Buffer.concat(MESSAGES.map(encodeFrame))
  for (const step of [1, 3, 8, 9, 64, bytes.length]) {
    const reader = createFrameReader()
    const messages: unknown[] = []
    for (let at = 0; at < bytes.length; at += step)
      messages.push(...reader.push(Buffer.from(bytes.subarray(at, at + step))))
    assert.deepEqual(messages, MESSAGES)
    assert.deepEqual(messages.map(readToFirmware), MESSAGES)
  }
})

test('bytes are wiped once they are read', () => {
  const bytes = encodeFrame({ type: 'unlock', passphrase: Buffer.from('a secret') })
  createFrameReader().push(bytes)
  assert.ok(bytes.every((byte) => byte === 0))
})

const REFUSED: [name: string, bytes: Uint8Array, why: RegExp][] = [
  ['an empty text', frame(''), /no text/],
  ['a text that is too long', frame(' '.repeat(TEXT_BYTES_MAX + 1)), /more than \d+ bytes/],
  ['too many bytes', frame('{}', new Uint8Array(RAW_BYTES_MAX + 1)), /more than \d+ raw bytes/],
  ['lengths of gigabytes', Buffer.from('ffffffffffffffff', 'hex'), /more than/],
  ['no JSON', frame('{'), /not JSON/],
  ['no UTF-8', frame(Uint8Array.of(0x22, 0xff, 0x22)), /not JSON/],
  ['a text nested without end', frame('['.repeat(TEXT_BYTES_MAX / 2) + ']'.repeat(TEXT_BYTES_MAX / 2)), /not JSON/],
  ['bytes that are not there', frame('{"bytes":[0,1]}'), /does not have/],
  ['bytes behind the end', frame('{"bytes":[1,1]}', Uint8Array.of(1)), /does not have/],
  ['bytes from before the beginning', frame('{"bytes":[-1,1]}', Uint8Array.of(1)), /no place/],
  ['half a byte', frame('{"bytes":[0,0.5]}', Uint8Array.of(1)), /no place/],
  ['bytes without a name', frame('{}', Uint8Array.of(1)), /does not name/],
  [
    'the same megabyte a thousand times',
    frame(`[${Array(1000).fill('{"bytes":[0,1000000]}').join()}]`, new Uint8Array(1_000_000)),
    /does not have/,
  ],
  ["a handle on Node's channel", nodeFrame({ cmd: 'NODE_HANDLE', type: 'net.Socket' }), /more than|not JSON/],
  ["an acknowledgement on Node's channel", nodeFrame({ cmd: 'NODE_HANDLE_ACK' }), /more than|not JSON/],
]

for (const [name, bytes, why] of REFUSED) {
  test(`refuses ${name}`, () => {
    assert.throws(
      () => createFrameReader().push(Buffer.from(bytes)),
      (error) => error instanceof FrameError && why.test(error.message),
    )
  })
}

test('passes over messages that are none of the protocol', () => {
  for (const value of [
    null,
    7,
    [],
    { type: 'begin' },
    { type: 'unlock', passphrase: 'text' },
    { type: 'start' },
    { ...MESSAGES.at(-1), deviceKey: 'text' },
    { ...MESSAGES.at(-1), software: {} },
    { type: 'chatDown' },
    { ...MESSAGES.at(-1), settings: { port: -1 } },
    { type: 'requestResult', problem: 7 },
    { type: 'keep', minimum: '1.0', count: 0.5 },
    { type: 'keep', minimum: 1, count: null },
    { type: 'slotResult', problem: 7 },
    { type: 'etcdResult', problem: null, hasData: true },
    { type: 'etcdState', state: { exited: 0 } },
    { type: 'etcdResult', hasData: true },
    { type: 'etcdEnded', problem: 'x' },
    { type: 'etcdLines', lines: [7] },
    { type: 'etcdLines', lines: 'x' },
  ])
    assert.equal(readToFirmware(value), null)
})

test('an other side that reads nothing is left, not waited for without end', async () => {
  const stream = new Duplex({ read: () => {}, write: () => {} })
  const channel = openChannel<ToFirmware, object>(stream, readToFirmware)
  const refused = once(channel, 'refused')
  for (let n = 0; n < 8; n++) channel.send({ bytes: new Uint8Array(1024 * 1024) })
  assert.deepEqual(await refused, ['does not read its messages'])
  channel.send({ type: 'ping' }) // into the void
})

/** Firmware that attacks once it is started; the next ones do the same. */
const ATTACKS: Record<string, string> = {
  "a handle on Node's channel": `raw(Buffer.from('${nodeFrame({ cmd: 'NODE_HANDLE', type: 'net.Socket' }).toString('hex')}', 'hex'))`,
  "an acknowledgement on Node's channel": `raw(Buffer.from('${nodeFrame({ cmd: 'NODE_HANDLE_ACK' }).toString('hex')}', 'hex'))`,
  'one and a half gigabytes': `
    const head = Buffer.alloc(8)
    head.writeUInt32BE(1_500_000_000)
    raw(head)
    for (let n = 0; n < 1500; n++) raw(Buffer.alloc(1_000_000))`,
  'frames without end whose answers are not read': `
    process.channel = null
    const step = encode({ type: 'slot', step: { do: 'discard' } })
    const many = Buffer.concat(Array(1000).fill(step))
    for (;;) raw(many)`,
}

for (const [name, attack] of Object.entries(ATTACKS)) {
  test(`the boot manager survives ${name}, and starts the firmware again`, async (t) => {
    const { lines, crashes } = stage(t, attack)
    const before = process.memoryUsage.rss()
    let most = before
    for (const deadline = Date.now() + DEADLINE_MS; crashes.length < 2; await wait(10)) {
      assert.ok(Date.now() < deadline, `${lines} ${crashes}`)
      most = Math.max(most, process.memoryUsage.rss())
    }
    assert.ok(most - before < GROWTH_BYTES_MAX, `${(most - before) / 1e6} MB`)
    assert.match(
      lines.join('\n'),
      /The firmware (sent something that is not a message: .*|does not read its messages)\. It is killed\./,
    )
    assert.match(crashes[0]!, /ended with SIGKILL/)
  })
}

function stage(t: TestContext, attack: string) {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-channel-'))
  const store = join(directory, 'store')
  const program = join(directory, 'firmware.mjs')
  mkdirSync(store)
  writeFileSync(
    program,
    smallFirmware(`
      import { writeSync } from 'node:fs'
      import { encodeFrame as encode } from './frames.ts'
      const raw = (bytes) => {
        for (let at = 0; at < bytes.length; ) {
          try {
            at += writeSync(3, bytes, at)
          } catch (error) {
            if (error.code !== 'EAGAIN') throw error
          }
        }
      }
      process.on('message', ({ type }) => {
        if (type !== 'start') return
        ${attack}
      })`),
  )
  const lock = openSync(join(directory, 'lock'), 'a')
  const [lines, crashes]: [string[], string[]] = [[], []]
  const supervisor = createSupervisor({
    command: () => ({
      serves: 'firmware',
      launcher: [],
      program,
      readable: [program],
      storeDirectory: store,
      heapMegabytes: 64,
    }),
    lock,
    startMessage: () => MESSAGES.at(-1) as Extract<ToFirmware, { type: 'start' }>,
    onMessage: (message) => {
      if (message.type === 'slot') supervisor.send({ type: 'slotResult', problem: 'x'.repeat(1000) })
    },
    onCrash: (explanation) => crashes.push(explanation),
    onLines: (more) => lines.push(...more),
    timeouts: { restartMs: 10, restartMsMax: 10, steadyMs: 60_000, pingMs: 1000, silenceMsMax: 60_000, stopMsMax: 0 },
  })
  t.after(async () => {
    await supervisor.stop()
    closeSync(lock)
    rmSync(directory, { recursive: true })
  })
  supervisor.start()
  return { lines, crashes }
}
