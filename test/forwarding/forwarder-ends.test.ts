/** An end of TCP alone, slow servers, a log that cannot be read in part, and what waits when forwarding is turned off. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CofferError } from '../../firmware/base/error.ts'
import { OutgoingError } from '../../firmware/outgoing/error.ts'
import { exportTexts, recordLines } from '../audit/rig.ts'
import { type ForwarderRig, openForwarder, sequenceOf, textsOf } from './support/rig.ts'

const FULL = { code: 'busy', message: /full of uses of keys that have not been exported/ }
const messagesOf = ({ jobs }: ForwarderRig) => jobs.flatMap(({ messages }) => messages)
const confirmedAll = ({ audit }: ForwarderRig) => audit.log.forwarding.confirmed === audit.log.forwarding.newest

function record({ audit }: ForwarderRig, count: number, from = 1): void {
  recordLines(audit.log, count, from)
  audit.log.flush()
}

test('lines that an end of TCP confirms do not count as exported, nor later ones before an export has had them', async (t) => {
  const rig = await openForwarder(t)
  const { log } = rig.audit
  log.configure({ lines: { change: 300, refusal: 300, use: 300 }, refuseUses: true })
  rig.isAuthenticated = false
  rig.set({ server: 'log.example.org', send: 'audit' })
  record(rig, 200)
  await rig.pass(() => confirmedAll(rig))
  const warning = 'log.example.org ends connections without close_notify: its lines do not count as exported'
  assert.deepEqual(rig.logged, [`warning ${warning}`])
  rig.isAuthenticated = true
  record(rig, 100, 201)
  await rig.pass(() => confirmedAll(rig))
  assert.throws(() => log.expectRoom(), FULL)
  await exportTexts(log)
  log.expectRoom()
  record(rig, 300, 301)
  assert.throws(() => log.expectRoom(), FULL)
  await rig.pass(() => confirmedAll(rig))
  log.expectRoom()
})

test('of a server that has ended TLS before, an end of TCP confirms nothing', async (t) => {
  const rig = await openForwarder(t)
  rig.set({ server: 'log.example.org', send: 'audit' })
  record(rig, 3)
  await rig.pass(() => confirmedAll(rig))
  rig.isAuthenticated = false
  record(rig, 3, 4)
  await rig.pass(() => rig.forwarder.view().problem !== undefined)
  assert.match(rig.forwarder.view().problem!, /ended the connection without close_notify, which it sent before/)
  assert.equal(rig.audit.log.forwarding.confirmed, 3)
  rig.isAuthenticated = true
  await rig.pass(() => confirmedAll(rig), 10_000)
})

test('a server that takes small batches in time, and no large ones, gets everything', async (t) => {
  const rig = await openForwarder(t)
  record(rig, 6000)
  rig.serve = async ({ frames }) => {
    if (frames.length > 100_000) throw new OutgoingError('it did not take the lines within 120 seconds', false)
  }
  rig.set({ server: 'log.example.org', send: 'audit' })
  await rig.pass(() => confirmedAll(rig), 10_000)
  assert.equal(new Set(textsOf(messagesOf(rig), 'audit').map(sequenceOf)).size, 6000)
})

test('lines before a place that cannot be read are confirmed', async (t) => {
  const rig = await openForwarder(t)
  record(rig, 6000)
  const { forwarding } = rig.audit.log
  const { since } = forwarding
  let failing = true
  forwarding.since = (sequence) => {
    if (failing && sequence > 0) throw new CofferError('storage', 'The disk cannot be read')
    return since(sequence)
  }
  rig.set({ server: 'log.example.org', send: 'audit' })
  await rig.pass(() => forwarding.confirmed > 0)
  await rig.pass(() => rig.forwarder.view().problem !== undefined)
  assert.equal(rig.forwarder.view().problem, 'Cannot forward: The disk cannot be read')
  failing = false
  await rig.pass(() => confirmedAll(rig), 10_000)
  assert.equal(textsOf(messagesOf(rig), 'audit').length, 6000)
})

test('the former server gets the system log up to the moment at which forwarding is turned off', async (t) => {
  for (const change of [{ server: null }, { send: 'audit' }] as const) {
    const rig = await openForwarder(t)
    rig.set({ server: 'log.example.org', send: 'log' })
    rig.log.info('users', 'first')
    await rig.pass(() => rig.jobs.length > 0 && rig.queue.length === 0)
    rig.log.info('users', 'before')
    rig.set(change)
    rig.log.info('users', 'after')
    await rig.pass(() => rig.queue.length === 0)
    await rig.pass(() => rig.forwarder.view().waiting === 0)
    assert.deepEqual(
      messagesOf(rig).map(({ text }) => text.replace(/^\[\d+\] /, '')),
      ['first', 'before'],
    )
    await rig.forwarder.close()
    t.mock.timers.reset()
  }
})
