import assert from 'node:assert/strict'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import test, { type TestContext } from 'node:test'
import fc from 'fast-check'
import { createLog, type LogEntry } from '../../firmware/base/log.ts'
import { createSyslog, formatPacket } from '../../firmware/base/syslog.ts'

const TIME_MS = Date.UTC(2026, 10, 5, 7, 8, 9)
const entry = (message: string): LogEntry => ({ level: 'info', source: 'access', message })

test('a packet has priority, time, host, source and text', () => {
  const expected: [LogEntry['level'], string][] = [
    ['error', '<27>'],
    ['warning', '<28>'],
    ['info', '<30>'],
    ['debug', '<31>'],
  ]
  for (const [level, priority] of expected) {
    const packet = formatPacket({ level, source: 'namespaces', message: '[7] created' }, TIME_MS).toString()
    assert.equal(packet, `${priority}Nov  5 07:08:09 coffer namespaces: [7] created`)
  }
})

test('no packet is longer than 1024 bytes or ends inside a character', () => {
  assert.ok(formatPacket(entry('x'.repeat(100_000)), TIME_MS).length <= 1024)
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 1200, size: 'max' }), (message) => {
      const packet = formatPacket(entry(message), TIME_MS)
      assert.ok(packet.length <= 1024)
      const text = new TextDecoder('utf8', { fatal: true }).decode(packet)
      const sent = text.slice(text.indexOf(': ') + 2)
      assert.ok(sent === message || (sent.endsWith('...') && message.startsWith(sent.slice(0, -3))))
    }),
  )
})

test('what would forge an entry of its own stays one line', (t) => {
  const packets: string[] = []
  const log = createLog('info', (entry) => packets.push(formatPacket(entry, TIME_MS).toString()))
  log.info('access', 'request GET /\n<27>Nov  5 07:08:09 coffer general: [1] forged\u2028\x00')
  assert.equal(packets.length, 1)
  assert.doesNotMatch(packets[0]!, /[\p{Cc}\u2028]/u)
  t.diagnostic(packets[0]!)
})

for (const [type, address] of [
  ['udp4', '127.0.0.1'],
  ['udp6', '::1'],
] as const) {
  test(`entries reach a ${type} server in order, those from before the target was known first`, async (t) => {
    const server = await receiver(t, type, address)
    const syslog = createSyslog(() => TIME_MS)
    for (let n = 1; n <= 5; n++) syslog.send(entry(`[${n}] early`))
    syslog.setTarget({ address, port: server.port })
    for (let n = 6; n <= 100; n++) syslog.send(entry(`[${n}] late`))
    await syslog.close()
    const numbers = (await server.take(100)).map((packet) => Number(/\[(\d+)\]/.exec(packet)![1]))
    assert.deepEqual(
      numbers,
      Array.from({ length: 100 }, (_, i) => i + 1),
    )
  })
}

test('a new target gets what comes after, the former one nothing more; without a target nothing is sent', async (t) => {
  const first = await receiver(t, 'udp4', '127.0.0.1')
  const second = await receiver(t, 'udp4', '127.0.0.1')
  const syslog = createSyslog(() => TIME_MS)
  syslog.setTarget({ address: '127.0.0.1', port: first.port })
  syslog.send(entry('[1] to the first'))
  syslog.setTarget({ address: '127.0.0.1', port: second.port })
  syslog.send(entry('[2] to the second'))
  syslog.setTarget(null)
  syslog.send(entry('[3] to nobody'))
  syslog.setTarget({ address: '127.0.0.1', port: second.port })
  syslog.send(entry('[4] to the second'))
  await syslog.close()
  syslog.send(entry('[5] too late'))
  assert.match((await second.take(2)).join(), /\[2\].*\[4\]/)
  assert.match((await first.take(1)).join(), /\[1\]/)
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.equal(first.count(), 1)
  assert.equal(second.count(), 2)
})

test('entries held for a target that never comes are bounded', async (t) => {
  const server = await receiver(t, 'udp4', '127.0.0.1')
  const syslog = createSyslog(() => TIME_MS)
  for (let n = 1; n <= 100_000; n++) syslog.send(entry(`[${n}]`))
  syslog.setTarget({ address: '127.0.0.1', port: server.port })
  await syslog.close()
  await server.take(200)
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.ok(server.count() <= 256, String(server.count()))
})

test('nothing that a network does disturbs the sender', async () => {
  const syslog = createSyslog(() => TIME_MS)
  const closed = createSocket('udp4').bind(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port } = closed.address()
  closed.close()
  for (const address of ['127.0.0.1', '255.255.255.255', '240.0.0.1', 'fe80::1', 'fe80::1%nowhere', '::', 'ff02::1']) {
    syslog.setTarget({ address, port })
    for (let i = 0; i < 20; i++) syslog.send(entry('into the void'))
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await syslog.close()
})

async function receiver(t: TestContext, type: 'udp4' | 'udp6', address: string) {
  const socket: Socket = createSocket({ type, recvBufferSize: 1024 * 1024 })
  const packets: string[] = []
  socket.on('message', (packet) => packets.push(packet.toString()))
  socket.bind(0, address)
  await once(socket, 'listening')
  t.after(() => socket.close())
  return {
    port: socket.address().port,
    count: () => packets.length,
    take: async (count: number) => {
      const deadline = Date.now() + 10_000
      while (packets.length < count) {
        assert.ok(Date.now() < deadline, `${packets.length} of ${count} packets came`)
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      return packets
    },
  }
}
