/** Forwarding to a log server: order, confirmation, what is sent again, what is lost, and who gets what after a change. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OutgoingError } from '../../firmware/outgoing/error.ts'
import { databaseOf } from '../../firmware/store/sqlite/file.ts'
import { event, keepLines, recordLines } from '../audit/rig.ts'
import { DEVICE_ID, type ForwarderRig, openForwarder, problemsIn, sequenceOf, textsOf } from './support/rig.ts'

const messagesOf = ({ jobs }: ForwarderRig) => jobs.flatMap(({ messages }) => messages)

function record({ audit }: ForwarderRig, count: number, from = 1): void {
  recordLines(audit.log, count, from)
  audit.log.flush()
}

const refused = async () => {
  throw new OutgoingError('it could not be reached (ECONNREFUSED)', false)
}

const confirmedAll = ({ audit }: ForwarderRig) => audit.log.forwarding.confirmed === audit.log.forwarding.newest

test('lines go out in their order with a signed head, and none again that was confirmed', async (t) => {
  const rig = await openForwarder(t)
  record(rig, 300)
  assert.deepEqual(rig.forwarder.view(), { state: 'off', confirmed: 0, waiting: 0 })
  rig.set({ server: 'log.example.org' })
  assert.deepEqual(rig.forwarder.view(), { state: 'waiting', confirmed: 0, waiting: 300 })
  await rig.pass(() => confirmedAll(rig))
  assert.deepEqual(await problemsIn(t, messagesOf(rig)), [])
  assert.ok(messagesOf(rig).every(({ hostname }) => hostname === DEVICE_ID))
  await rig.pass(() => rig.forwarder.view().state === 'connected')
  record(rig, 20, 301)
  await rig.pass(() => confirmedAll(rig))
  const sequences = textsOf(messagesOf(rig), 'audit').map(sequenceOf)
  assert.deepEqual(
    sequences,
    Array.from({ length: 320 }, (_, i) => i + 1),
  )
  assert.deepEqual(await problemsIn(t, messagesOf(rig)), [])
  assert.deepEqual(rig.forwarder.view(), { state: 'connected', confirmed: 320, waiting: 0 })
})

test('all that was not confirmed is sent again, and the problem is said until then', async (t) => {
  const rig = await openForwarder(t)
  record(rig, 10)
  rig.serve = refused
  rig.set({ server: 'log.example.org' })
  await rig.pass(() => rig.forwarder.view().problem !== undefined)
  assert.deepEqual(rig.forwarder.view(), {
    ...{ state: 'waiting', confirmed: 0, waiting: 11 }, // with the warning itself
    problem: 'Cannot forward: it could not be reached (ECONNREFUSED)',
  })
  assert.deepEqual(rig.logged, [
    'warning Cannot forward the log to log.example.org: it could not be reached (ECONNREFUSED)',
  ])
  await rig.pass(() => rig.jobs.length > 5, 10_000)
  assert.equal(rig.audit.log.forwarding.confirmed, 0)
  assert.equal(rig.logged.length, 1)
  rig.jobs.length = 0
  rig.serve = async () => {}
  await rig.pass(() => confirmedAll(rig), 10_000)
  assert.equal(textsOf(messagesOf(rig), 'audit').length, 10)
  assert.equal(textsOf(messagesOf(rig), 'general').length, 1)
  assert.equal(rig.logged.at(-1), 'info the log is forwarded to log.example.org again')
  assert.equal(rig.forwarder.view().problem, undefined)
})

test('of several connections at once only those before the first failure count', async (t) => {
  const rig = await openForwarder(t)
  record(rig, 6000)
  let served = 0
  rig.serve = async () => {
    if (++served === 2) throw new OutgoingError('it broke the connection', false)
  }
  rig.set({ server: 'log.example.org', send: 'audit' })
  await rig.pass(() => rig.audit.log.forwarding.confirmed > 0)
  const [first] = rig.jobs
  const last = sequenceOf(textsOf(first!.messages, 'audit').at(-1)!)
  assert.equal(rig.audit.log.forwarding.confirmed, last)
  assert.equal(rig.jobs.length, 4)
  for (const { messages } of rig.jobs.slice(0, 3)) {
    const bytes = textsOf(messages, 'audit').reduce((sum, text) => sum + text.length, 0)
    assert.ok(bytes > 400_000 && bytes < 1024 * 1024, `${bytes}`)
  }
  await rig.pass(() => confirmedAll(rig))
  assert.equal(sequenceOf(textsOf(rig.jobs[4]!.messages, 'audit')[0]!), last + 1)
  assert.deepEqual(await problemsIn(t, messagesOf(rig)), [])
})

test('a gap names what was overwritten before it was confirmed, in its place', async (t) => {
  const rig = await openForwarder(t)
  keepLines(rig.audit.log, 300)
  rig.serve = refused
  rig.set({ server: 'log.example.org', send: 'audit' })
  void rig.audit.log.record(event({ action: 'PUT /config/audit' }), 'change')
  record(rig, 1000)
  record(rig, 1000, 1001)
  rig.serve = async () => {}
  await rig.pass(() => confirmedAll(rig), 10_000)
  const rest = messagesOf(rig).filter(({ id }) => id !== 'head')
  const sequences = textsOf(rest, 'audit').map(sequenceOf)
  assert.equal(sequences[0], 1) // the change, which uses do not push out
  const [gap] = textsOf(rest, 'gap')
  const { from, to } = JSON.parse(gap!)
  assert.equal(from, 2)
  assert.equal(to, sequences[1]! - 1)
  assert.ok(to > 1500 && to < 2001 - 299, `${to}`)
  assert.equal(rest[1]!.id, 'gap')
  assert.equal(sequences.at(-1), 2001)
  assert.equal(textsOf(rest, 'gap').length, 1)
  assert.ok(rig.logged.includes(`warning ${to - 1} lines of the audit log were lost before the log server took them`))
  rig.jobs.length = 0
  record(rig, 5, 2001)
  await rig.pass(() => confirmedAll(rig))
  assert.deepEqual(textsOf(messagesOf(rig), 'gap'), [])
})

test('uses are refused while the ring is full of lines that no server has confirmed, and go on afterwards', async (t) => {
  const rig = await openForwarder(t)
  const { log } = rig.audit
  log.configure({ lines: { change: 300, refusal: 300, use: 300 }, refuseUses: true })
  rig.serve = refused
  rig.set({ server: 'log.example.org' })
  record(rig, 300)
  const full = { code: 'busy', message: /full of uses of keys that have not been exported/ }
  assert.throws(() => log.expectRoom(), full)
  await rig.pass(() => rig.forwarder.view().problem !== undefined)
  assert.throws(() => log.expectRoom(), full)
  rig.serve = async () => {}
  await rig.pass(() => confirmedAll(rig), 10_000)
  log.expectRoom()
  record(rig, 300, 301)
  assert.throws(() => log.expectRoom(), full)
  await rig.pass(() => confirmedAll(rig))
  log.expectRoom()
  await rig.reopen()
  rig.audit.log.expectRoom() // what was confirmed is kept
  assert.equal(rig.audit.log.forwarding.confirmed, 600)
  assert.deepEqual(textsOf(messagesOf(rig), 'gap'), [])
  assert.deepEqual(await problemsIn(t, messagesOf(rig)), [])
})

test('what was confirmed survives a restart, and the rest is sent', async (t) => {
  const rig = await openForwarder(t)
  rig.set({ server: 'log.example.org' })
  record(rig, 10)
  await rig.pass(() => confirmedAll(rig))
  rig.serve = refused
  record(rig, 10, 11)
  const before = rig.jobs.length
  await rig.pass(() => rig.jobs.length > before)
  await rig.reopen()
  assert.equal(rig.audit.log.forwarding.confirmed, 10)
  rig.jobs.length = 0
  rig.serve = async () => {}
  await rig.pass(() => confirmedAll(rig))
  assert.deepEqual(textsOf(messagesOf(rig), 'audit').map(sequenceOf), [11, 12, 13, 14, 15, 16, 17, 18, 19, 20])
})

test('the former server gets the change of the setting, and the next one goes on behind it', async (t) => {
  const rig = await openForwarder(t)
  rig.set({ server: 'one.example.org' })
  record(rig, 3)
  await rig.pass(() => confirmedAll(rig))
  rig.set({ server: 'two.example.org' })
  await rig.audit.log.record(event({ action: 'PUT /config/syslog' }), 'change')
  await rig.pass(() => confirmedAll(rig))
  record(rig, 2, 4)
  await rig.pass(() => confirmedAll(rig))
  const linesOf = (name: string) =>
    rig.jobs.flatMap(({ server, messages }) => (server === name ? textsOf(messages, 'audit').map(sequenceOf) : []))
  assert.deepEqual(linesOf('one.example.org'), [1, 2, 3, 4])
  assert.deepEqual(linesOf('two.example.org'), [5, 6])
  rig.set({ server: null })
  await rig.audit.log.record(event({ action: 'PUT /config/syslog' }), 'change')
  await rig.pass(() => confirmedAll(rig))
  assert.deepEqual(linesOf('two.example.org'), [5, 6, 7])
  record(rig, 5, 6)
  await rig.pass(() => rig.forwarder.view().state === 'off')
  const jobs = rig.jobs.length
  t.mock.timers.tick(60_000)
  assert.equal(rig.jobs.length, jobs)
})

test('a former server that does not answer does not hold up the next one', async (t) => {
  const rig = await openForwarder(t)
  rig.set({ server: 'one.example.org' })
  rig.serve = ({ host }) => (host === 'one.example.org' ? refused() : Promise.resolve())
  record(rig, 3)
  await rig.pass(() => rig.forwarder.view().problem !== undefined)
  rig.set({ server: 'two.example.org' })
  await rig.pass(() => confirmedAll(rig), 10_000)
  assert.equal(textsOf(rig.jobs.find(({ server }) => server === 'two.example.org')!.messages, 'audit').length, 3)
})

test('either log can be left out', async (t) => {
  const rig = await openForwarder(t)
  record(rig, 3)
  rig.set({ server: 'log.example.org', send: 'log' })
  rig.log.info('users', 'user added')
  rig.log.error('general', 'zwei Zeilen\nin einer')
  await rig.pass(() => rig.queue.length === 0)
  assert.deepEqual(
    messagesOf(rig).map(({ priority, id, text }) => [priority, id, text.replace(/^\[\d+\] /, '')]),
    [
      [30, 'users', 'user added'],
      [27, 'general', 'zwei Zeilen\\u000ain einer'],
    ],
  )
  assert.equal(rig.audit.log.forwarding.confirmed, 0)
  assert.equal(rig.forwarder.view().waiting, 0)
  rig.jobs.length = 0
  rig.set({ send: 'audit' })
  rig.log.info('users', 'not forwarded')
  await rig.pass(() => confirmedAll(rig))
  assert.deepEqual(new Set(messagesOf(rig).map(({ id }) => id)), new Set(['audit', 'head']))
})

test('the system log is bounded: the oldest lines are dropped, and a line says how many', async (t) => {
  const rig = await openForwarder(t)
  rig.set({ server: 'log.example.org', send: 'log' })
  for (let n = 1; n <= 10_500; n++) rig.log.info('access', `line ${n}`)
  assert.equal(rig.queue.length, 10_000)
  await rig.pass(() => rig.queue.length === 0)
  const [dropped, next] = messagesOf(rig)
  assert.match(dropped!.text, /^500 lines before this one were dropped/)
  assert.equal(next!.text, '[501] line 501')
  assert.equal(messagesOf(rig).length, 10_001)
  for (let n = 1; n <= 100; n++) rig.log.info('access', 'x'.repeat(64 * 1024))
  assert.ok(rig.queue.length < 65, `${rig.queue.length}`)
  await rig.pass(() => rig.queue.length === 0)
})

test('a damaged row is a gap, and the rest of the log is forwarded', async (t) => {
  const rig = await openForwarder(t)
  record(rig, 100)
  record(rig, 100, 101)
  record(rig, 100, 201)
  rig.audit.reopen((store) => databaseOf(store).exec("UPDATE audit SET sealed = x'00' WHERE slot = 101"))
  rig.set({ server: 'log.example.org', send: 'audit' })
  await rig.pass(() => confirmedAll(rig))
  assert.deepEqual(textsOf(messagesOf(rig), 'gap'), ['{"from":101,"to":200}'])
  assert.equal(textsOf(messagesOf(rig), 'audit').length, 200)
  assert.deepEqual(await problemsIn(t, messagesOf(rig)), ['Missing: lines 101 to 200.'])
})

test('a stop cancels what is being sent', async (t) => {
  const rig = await openForwarder(t)
  record(rig, 3)
  let isCanceled = false
  rig.serve = (_, signal) =>
    new Promise((_, reject) =>
      signal.addEventListener('abort', () => {
        isCanceled = true
        reject(new OutgoingError('it was canceled', false))
      }),
    )
  rig.set({ server: 'log.example.org' })
  await rig.pass(() => rig.jobs.length > 0)
  await rig.forwarder.close()
  assert.ok(isCanceled)
  assert.deepEqual(rig.logged, [])
})

test('nothing is forwarded that a power cut could still take from the disk', async (t) => {
  const rig = await openForwarder(t)
  const { log, synced } = rig.audit
  rig.set({ server: 'log.example.org', send: 'audit' })
  record(rig, 2)
  assert.equal(log.forwarding.newest, 2)
  recordLines(log, 128, 3) // a full group, which is written at once
  await rig.pass(() => synced.at(-1) === false, 0)
  assert.equal(log.forwarding.newest, 2)
  assert.equal(log.forwarding.head().sequence, 2)
  assert.equal(log.head().sequence, 130)
  const sequences: number[] = []
  for await (const chunk of log.forwarding.since(0)) sequences.push(...chunk.map(({ line }) => line.sequence))
  assert.deepEqual(sequences, [1, 2])
  await rig.pass(() => log.forwarding.confirmed === 130)
  assert.equal(synced.at(-1), true)
  assert.deepEqual(await problemsIn(t, messagesOf(rig)), [])
})
