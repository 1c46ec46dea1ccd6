/** A look at the alerts, or a mail, that fails unexpectedly: the log says so, and the timer goes on. The timers are in the test's hands. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { createAlerts } from '../../firmware/alerts/service.ts'
import { createLog } from '../../firmware/base/log.ts'
import { operationalRig } from '../support/in-process.ts'
import { HOUR_MS, MINUTE_MS } from './rig.ts'

const TICK_MS = 10_000

/** An appliance without a backup, which mails so. */
async function open(t: TestContext) {
  const rig = await operationalRig(t)
  const json = { server: 'mail.example.org', from: 'coffer@example.org', to: ['admin@example.org'] }
  assert.equal(await rig.status('PUT', '/config/mail', { as: 'admin', json }), 204)
  const state = { nowMs: 0, attempts: 0, mails: 0 }
  const faults: { ofCheck?: Error; ofMail?: Error } = {}
  const logged: string[] = []
  // Not `setInterval`: a mock cannot clear an interval that the appliance made before, which then keeps the process alive.
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const alerts = createAlerts({
    ...{ appliance: rig.appliance, acme: rig.acme!, isRolledBack: false, setsClock: false },
    forwarder: undefined,
    chat: {
      get state() {
        if (faults.ofCheck !== undefined) throw faults.ofCheck
        return 'none' as const
      },
      hasOlderCopies: false,
    },
    outgoing: {
      isDown: false,
      async mail() {
        state.attempts++
        if (faults.ofMail !== undefined) throw faults.ofMail
        state.mails++
        return { accepted: 1 }
      },
    },
    log: createLog('debug', ({ level, message }) => logged.push(`${level} ${message}`)),
    monotonicMs: () => state.nowMs,
  })
  return {
    state,
    faults,
    logged,
    close() {
      alerts.stop()
      t.mock.timers.runAll() // what the appliance waits for, it would wait for without end
      t.mock.timers.reset()
    },
    async pass(ms: number) {
      for (const endMs = state.nowMs + ms; state.nowMs < endMs; ) {
        state.nowMs += TICK_MS
        t.mock.timers.tick(TICK_MS)
        await nextTurn()
        await nextTurn()
      }
    },
  }
}

const alertsTest = (name: string, body: (opened: Awaited<ReturnType<typeof open>>) => Promise<void>) =>
  test(name, async (t) => {
    const opened = await open(t)
    await body(opened).finally(opened.close)
  })

alertsTest(
  'a condition that fails is logged once a minute at most, and looked at again',
  async ({ state, faults, logged, pass }) => {
    faults.ofCheck = new Sqlite.SqliteError('disk I/O error', 'SQLITE_IOERR')
    await pass(HOUR_MS)
    assert.equal(logged.length, 60)
    for (const line of logged) assert.match(line, /^error \[\d+\] cannot look at the alerts: disk I\/O error$/)
    assert.equal(state.mails, 0)
    delete faults.ofCheck
    await pass(4 * MINUTE_MS)
    assert.equal(state.mails, 1)
  },
)

alertsTest(
  'a mail that fails unexpectedly is logged without what it quotes, and tried again',
  async ({ state, faults, logged, pass }) => {
    faults.ofMail = new TypeError('what it worked on')
    await pass(3 * MINUTE_MS)
    assert.equal(state.attempts, 1)
    assert.equal(logged.length, 1)
    assert.match(logged[0]!, /^error \[\d+\] cannot mail alerts: unexpected TypeError$/)
    delete faults.ofMail
    await pass(2 * MINUTE_MS)
    assert.equal(state.mails, 1)
  },
)
