/** The alert `syslog` of the contract's table 7.10, over a forwarder and an audit log whose server is in the test's hands. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { OutgoingError } from '../../firmware/outgoing/error.ts'
import { keepLines, recordLines } from '../audit/rig.ts'
import { type ForwarderRig, openForwarder } from '../forwarding/support/rig.ts'
import { mailAlerts } from './mailed.ts'
import { MINUTE_MS, openAlerts } from './rig.ts'

const WAIT_MS = 10 * MINUTE_MS
const LINES = 1000

async function open(t: TestContext) {
  const { rig } = await openAlerts(t)
  const { configuration } = rig.appliance
  const server: ForwarderRig = await openForwarder(t)
  const { log } = server.audit
  keepLines(log, LINES)
  let recorded = 0
  const alerts = mailAlerts(rig, ['syslog', 'audit'], {
    forwarder: server.forwarder,
    appliance: new Proxy(rig.appliance, {
      get: (target, name) => (name === 'audit' ? log : Reflect.get(target, name, target)),
    }),
  })
  t.after(alerts.stop)
  return {
    server,
    alerts,
    log,
    level: () => alerts.shown('syslog')?.level,
    text: () => alerts.shown('syslog')?.text ?? '',
    record(count: number) {
      recordLines(log, count, recorded + 1)
      recorded += count
      log.flush()
    },
    set(name: string | null, send: 'audit' | 'log' = 'audit') {
      configuration.changeSyslog({ server: name, send })
      server.set({ server: name, send })
    },
    fail() {
      server.serve = async () => {
        throw new OutgoingError('it could not be reached (ECONNREFUSED)', false)
      }
    },
    async forward() {
      server.serve = async () => {}
      await server.pass(() => server.forwarder.view().waiting === 0, 10_000)
    },
  }
}

test('for ten minutes lines wait, and the log server confirms nothing', async (t) => {
  const { alerts, record, set, fail, forward, level } = await open(t)
  record(10)
  await alerts.pass(WAIT_MS)
  assert.equal(level(), undefined, 'none is set')
  fail()
  set('log.example.org')
  assert.equal(level(), undefined)
  await alerts.pass(WAIT_MS - 1)
  assert.equal(level(), undefined)
  await alerts.pass(1)
  assert.equal(level(), 'warning')
  await forward()
  assert.equal(level(), undefined)

  record(10)
  await alerts.pass(WAIT_MS - 1)
  await forward()
  record(10)
  await alerts.pass(WAIT_MS - 1)
  assert.equal(level(), undefined, 'it confirmed something meanwhile')
  await alerts.pass(MINUTE_MS)
  assert.equal(level(), 'warning')
  set(null)
  assert.equal(level(), undefined)
})

test('another server has ten minutes of its own', async (t) => {
  const { alerts, record, set, fail, level } = await open(t)
  fail()
  record(10)
  set('one.example.org')
  assert.equal(level(), undefined)
  await alerts.pass(WAIT_MS - 1)
  set('two.example.org')
  await alerts.pass(MINUTE_MS)
  assert.equal(level(), undefined)
  await alerts.pass(WAIT_MS)
  assert.equal(level(), 'warning')
  set(null)
  set('three.example.org')
  assert.equal(level(), undefined)
})

test('lines that it has not confirmed fill the audit log', async (t) => {
  const { alerts, log, record, set, fail, level, text } = await open(t)
  fail()
  record(4 * (LINES / 5) - 1)
  set('log.example.org')
  await alerts.pass(WAIT_MS + MINUTE_MS)
  assert.match(text(), /ten minutes\. Lines wait for it\.$/)
  record(1)
  assert.equal(level(), 'warning')
  assert.match(text(), /fill four fifths of the audit log\. Once it is full, the oldest are overwritten\.$/)
  record(LINES / 5)
  assert.equal(level(), 'critical')
  assert.match(text(), /fill the audit log\. The oldest are overwritten\.$/)
  assert.equal(alerts.shown('audit'), undefined, 'to export the log does not help')
  await alerts.pass(3 * MINUTE_MS)
  assert.match(
    alerts.lastMail(),
    /CRITICAL: syslog.*\r\n.*\r\n.*\r\n {2}The oldest are overwritten\.\r\n.*coffer config syslog/,
  )
  log.forwarding.confirm(log.forwarding.newest - 4 * (LINES / 5), null)
  assert.equal(level(), 'warning')
  set('log.example.org', 'log')
  assert.equal(level(), undefined, 'no audit line waits for it')
})

test('uses that must be exported first are refused, not overwritten', async (t) => {
  const { alerts, log, record, set, fail, level, text } = await open(t)
  log.configure({ ...log.settings, refuseUses: true })
  fail()
  record(4 * (LINES / 5))
  set('log.example.org')
  await alerts.pass(WAIT_MS + MINUTE_MS)
  assert.match(text(), /Once it is full, uses of keys are refused\.$/)
  record(LINES / 5)
  assert.equal(level(), 'critical')
  assert.match(text(), /fill the audit log\. Uses of keys are refused\.$/)
  assert.throws(() => log.expectRoom(), { code: 'busy' })
})

test('a log server that is set while the audit log is full takes it without an alert', async (t) => {
  const { alerts, server, record, set, forward } = await open(t)
  record(LINES)
  const expectNone = () => assert.deepEqual([alerts.shown('audit'), alerts.shown('syslog')], [undefined, undefined])
  const lines = Promise.withResolvers<void>()
  server.serve = () => lines.promise
  set('log.example.org')
  await alerts.pass(WAIT_MS - MINUTE_MS)
  expectNone()
  lines.resolve()
  await forward()
  expectNone()
})

test('after a restart its end is mailed once it has confirmed lines, not before', async (t) => {
  const { alerts, record, set, fail, forward, level } = await open(t)
  fail()
  record(10)
  set('log.example.org')
  await alerts.pass(WAIT_MS + 3 * MINUTE_MS)
  assert.deepEqual(alerts.subjects(), ['syslog (warning)'])
  alerts.restart()
  await alerts.pass(WAIT_MS - MINUTE_MS)
  assert.deepEqual([level(), alerts.subjects()], [undefined, []])
  await alerts.pass(5 * MINUTE_MS)
  assert.deepEqual([level(), alerts.subjects()], ['warning', []])
  alerts.restart()
  await alerts.pass(MINUTE_MS)
  await forward()
  await alerts.pass(3 * MINUTE_MS)
  assert.deepEqual(alerts.subjects(), ['syslog (ended)'])
})
