/** Each condition of the contract's table 7.10 is brought about, and goes away again. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import Sqlite from 'better-sqlite3'
import { ALERT_IDS } from '../../firmware/alerts/conditions.ts'
import { CofferError } from '../../firmware/base/error.ts'
import { createLog } from '../../firmware/base/log.ts'
import { createStager } from '../../firmware/release/stager.ts'
import { openAcme } from '../acme/support/rig.ts'
import { BACKUP, restore, setBackupPassphrase, sign, takeBackup } from '../backup/rig.ts'
import { Workshop } from '../configuration/authority.ts'
import { openProcess } from '../outgoing/started.ts'
import { goodImage, INSTALLED, inPieces, releasePublicKey } from '../release/archives.ts'
import { UNLOCK } from '../support/in-process.ts'
import { needs } from '../support/tools.ts'
import { mailAlerts } from './mailed.ts'
import { type AlertRig, DAY_MS, GIB, HOUR_MS, MINUTE_MS, openAlerts } from './rig.ts'

/** A fresh appliance has no backup. */
const FRESH = { backup: 'warning' }
const WARNED = (id: string) => ({ ...FRESH, [id]: 'warning' })
const CRITICAL = (id: string) => ({ ...FRESH, [id]: 'critical' })

const sorted = async ({ shown }: AlertRig) => Object.fromEntries(Object.entries(await shown()).sort())
async function expectShown(opened: AlertRig, expected: Record<string, string>): Promise<void> {
  assert.deepEqual(await sorted(opened), Object.fromEntries(Object.entries(expected).sort()))
}

const unlock = ({ rig }: AlertRig) => rig.appliance.unlock(new TextEncoder().encode(UNLOCK))

async function put({ rig }: AlertRig, path: string, json: object): Promise<void> {
  assert.equal(await rig.status('PUT', path, { as: 'admin', json }), 204)
}

/** A certificate for the appliance's key that is valid for so long from now. */
async function setCertificate(t: TestContext, { rig }: AlertRig, days: number): Promise<void> {
  const workshop = new Workshop()
  t.after(() => workshop.remove())
  const json = { commonName: 'coffer.example.org' }
  const csr = (await rig.call('POST', '/config/tls/csr.pem', { as: 'admin', json })).text()
  const root = workshop.root('Root')
  const text = (ms: number) => new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '')
  const nowMs = rig.appliance.clock.now()
  const validity = { notBefore: text(nowMs), notAfter: text(nowMs + days * DAY_MS) }
  const { pem } = workshop.issue({ name: 'leaf', csr, issuer: root, validity })
  const headers = { 'content-type': 'application/x-pem-file' }
  assert.equal(await rig.status('PUT', '/config/tls/cert.pem', { as: 'admin', body: pem, headers }), 201)
}

/** Days of life, of which so many are left, and what is shown then. */
const LIVES: [days: number, leftDays: number, level: string | null][] = [
  [90, 22.6, null],
  [90, 22.4, 'warning'],
  [90, 7.1, 'warning'],
  [90, 6.9, 'critical'],
  [6, 1.6, null],
  [6, 1.4, 'warning'],
  [6, 0.5, 'critical'],
  [3650, 31, null],
  [3650, 29, 'warning'],
  [90, -1, 'critical'],
]

test('certificate-appliance: it ends soon, has ended, and is replaced', needs('openssl'), async (t) => {
  const opened = await openAlerts(t)
  const { rig } = opened
  for (const [days, leftDays, level] of LIVES) {
    const startMs = rig.appliance.clock.now()
    await setCertificate(t, opened, days)
    rig.appliance.setTime(startMs + (days - leftDays) * DAY_MS)
    await expectShown(opened, level === null ? FRESH : { ...FRESH, 'certificate-appliance': level })
    rig.appliance.setTime(startMs)
  }
  await setCertificate(t, opened, 3)
  rig.appliance.setTime(rig.appliance.clock.now() + 4 * DAY_MS)
  await expectShown(opened, CRITICAL('certificate-appliance'))
  const json = { type: 'EC_P256' }
  assert.equal(await rig.status('POST', '/config/tls/generate', { as: 'admin', json }), 204)
  await expectShown(opened, FRESH)
})

test('certificate-appliance: orders fail for a day', needs('openssl'), async (t) => {
  const of = await openAcme(t, () => 0.5)
  const { appliance } = of.rig
  const { alerts, pass } = await openAlerts(t, { appliance, acme: { view: () => of.acme.view() } })
  const ids = () => alerts.current().map(({ id }) => id)
  of.ca.problemAt = () => 'unreachable'
  await of.set({ challenge: 'tls-alpn-01', appliance: ['coffer.example.org'] })
  while (of.acme.view().ports.appliance.failures === 0) await of.clock.advance(of.clock.now() + HOUR_MS)
  pass(DAY_MS - 1)
  assert.ok(!ids().includes('certificate-appliance'))
  pass(1)
  assert.ok(ids().includes('certificate-appliance'))
  await appliance.lock()
  assert.ok(ids().includes('certificate-appliance'), 'stays while nothing is known')
  await appliance.unlock(new TextEncoder().encode(UNLOCK))
  of.ca.problemAt = () => null
  while (of.acme.view().ports.appliance.state !== 'valid') await of.clock.advance(of.clock.now() + HOUR_MS)
  appliance.setTime(of.clock.now())
  assert.ok(!ids().includes('certificate-appliance'))
})

test('certificate-appliance: after a restart its end is mailed once an order succeeds, not before', async (t) => {
  const { rig } = await openAlerts(t)
  const ports = { appliance: { failures: 1 }, chat: { failures: 0 } }
  const alerts = mailAlerts(rig, ['certificate-appliance'], { acme: { view: () => ({ ports }) as never } })
  t.after(alerts.stop)
  await alerts.pass(DAY_MS + 3 * MINUTE_MS)
  assert.deepEqual(alerts.subjects(), ['certificate-appliance (warning)'])
  alerts.restart()
  await alerts.pass(10 * MINUTE_MS)
  await rig.appliance.lock()
  alerts.restart()
  await alerts.pass(10 * MINUTE_MS)
  await rig.appliance.unlock(new TextEncoder().encode(UNLOCK))
  await alerts.pass(10 * MINUTE_MS)
  assert.deepEqual(alerts.subjects(), [])
  ports.appliance.failures = 0
  await alerts.pass(3 * MINUTE_MS)
  assert.deepEqual(alerts.subjects(), ['certificate-appliance (ended)'])
})

test('certificate-chat: the chat has one of its own', needs('openssl'), async (t) => {
  const chat = { state: 'none' as string, hasOlderCopies: false }
  const opened = await openAlerts(t, { chat: chat as never })
  const { rig } = opened
  await setCertificate(t, opened, 3)
  rig.appliance.configuration.chatTls.use(rig.appliance.tlsIdentity())
  rig.appliance.setTime(rig.appliance.clock.now() + 4 * DAY_MS)
  await expectShown(opened, CRITICAL('certificate-appliance'))
  chat.state = 'running'
  await expectShown(opened, { ...CRITICAL('certificate-appliance'), 'certificate-chat': 'critical' })
  chat.state = 'none'
  await expectShown(opened, CRITICAL('certificate-appliance'))
})

test('locked: for five minutes, until it is unlocked', async (t) => {
  const opened = await openAlerts(t)
  const { rig, alerts, pass } = opened
  await rig.appliance.lock()
  const isShown = () => alerts.current().some(({ id }) => id === 'locked')
  pass(5 * MINUTE_MS - 1)
  assert.equal(isShown(), false)
  pass(1)
  assert.equal(isShown(), true)
  await unlock(opened)
  assert.equal(isShown(), false)
})

test('locked: after a restart its end is mailed once it is unlocked, not before', async (t) => {
  const { rig } = await openAlerts(t)
  const alerts = mailAlerts(rig, ['locked'], {})
  t.after(alerts.stop)
  await rig.appliance.lock()
  await alerts.pass(8 * MINUTE_MS)
  assert.deepEqual(alerts.subjects(), ['locked (critical)'])
  alerts.restart()
  await alerts.pass(10 * MINUTE_MS)
  assert.deepEqual(alerts.subjects(), [])
  await rig.appliance.unlock(new TextEncoder().encode(UNLOCK))
  await alerts.pass(3 * MINUTE_MS)
  assert.deepEqual(alerts.subjects(), ['locked (ended)'])
})

test('update: a version was rolled back', async (t) => {
  await expectShown(await openAlerts(t, { isRolledBack: true }), WARNED('update'))
  await expectShown(await openAlerts(t, { isRolledBack: false }), FRESH)
})

test('update: a commit failed, until one succeeds or the update is canceled', async (t) => {
  const opened = await openAlerts(t)
  let isFailing = true
  const stager = createStager({
    bootManager: {
      slot: async (step) => {
        if (step.do === 'activate' && isFailing) throw new CofferError('invalid', 'The disk failed')
      },
    },
    ...{ releaseKey: releasePublicKey, product: 'Coffer', version: INSTALLED, log: createLog('error', () => {}) },
    onEnd: opened.alerts.noteUpdate,
  })
  await assert.rejects(stager.commit(), { code: 'unavailable' })
  await expectShown(opened, FRESH) // nothing was pending
  for (const end of ['commit', 'cancel'] as const) {
    isFailing = true
    await stager.stage(inPieces(goodImage()).chunks)
    await assert.rejects(stager.commit())
    await expectShown(opened, WARNED('update'))
    isFailing = false
    await stager[end]()
    await expectShown(opened, FRESH)
  }
})

test('disk: little is free, or writers are refused', async (t) => {
  const opened = await openAlerts(t)
  const { disk } = opened
  for (const [freeBytes, expected] of [
    [10.1 * GIB, FRESH],
    [9.9 * GIB, WARNED('disk')],
    [5.1 * GIB, WARNED('disk')],
    [4.9 * GIB, CRITICAL('disk')],
    [0.4 * GIB, CRITICAL('disk')],
    [50 * GIB, FRESH],
  ] as const) {
    disk.freeBytes = freeBytes
    await expectShown(opened, expected)
  }
})

test('audit: uses that were not exported fill the log', async (t) => {
  const opened = await openAlerts(t)
  const { rig } = opened
  await rig.key('signs')
  await put(opened, '/config/audit', { uses: 1000, whenFull: 'refuse' })
  for (let n = 0; n < 899; n++) await sign(rig, 'signs')
  await expectShown(opened, FRESH)
  await sign(rig, 'signs')
  await expectShown(opened, WARNED('audit'))
  for (let n = 0; n < 100; n++) await sign(rig, 'signs')
  await expectShown(opened, CRITICAL('audit'))
  await rig.call('GET', '/audit/export', { as: 'admin' })
  await expectShown(opened, FRESH)
})

test('outgoing: its process crashes, until one answers or none is needed', async (t) => {
  const { client } = await openProcess(t)
  const opened = await openAlerts(t, { outgoing: client })
  client.receive({ type: 'outgoingDown', problem: 'it crashed' })
  await expectShown(opened, WARNED('outgoing'))
  await client.probe({ host: '127.0.0.1', port: 9, tls: false })
  await expectShown(opened, FRESH)
  client.receive({ type: 'outgoingDown', problem: 'it crashed' })
  await expectShown(opened, WARNED('outgoing'))
  client.renew() // after a lock, without a job that waits
  await expectShown(opened, FRESH)
})

test('backup: none was made, or none for thirty days', async (t) => {
  const opened = await openAlerts(t)
  const { rig } = opened
  await expectShown(opened, FRESH)
  assert.equal(
    await rig.status('PUT', '/config/backup-passphrase', { as: 'admin', json: { passphrase: 'opens backups' } }),
    204,
  )
  const makeBackup = async () => assert.equal(await rig.status('POST', '/system/backup', { as: 'backup' }), 200)
  await makeBackup()
  await expectShown(opened, {})
  rig.appliance.setTime(rig.appliance.clock.now() + 30 * DAY_MS)
  await expectShown(opened, FRESH)
  await makeBackup()
  await expectShown(opened, {})
})

test('chat: it has failed, or has an older copy', async (t) => {
  const chat = { state: 'running', hasOlderCopies: false }
  const opened = await openAlerts(t, { chat: chat as never })
  await expectShown(opened, FRESH)
  chat.state = 'failed'
  await expectShown(opened, CRITICAL('chat'))
  chat.state = 'running'
  chat.hasOlderCopies = true
  await expectShown(opened, WARNED('chat'))
  chat.hasOlderCopies = false
  await expectShown(opened, FRESH)
})

/** Ends the appliance, changes rows of its keys, and starts it again. */
async function startAgain(t: TestContext, { rig }: AlertRig, change: (database: Sqlite.Database) => void) {
  await rig.appliance.close()
  const database = new Sqlite(`${rig.dataDirectory}/store.db`)
  change(database)
  database.close()
  return openAlerts(t, {}, rig.dataDirectory)
}

test('store: a record is damaged, until a backup is restored', async (t) => {
  const first = await openAlerts(t)
  const { rig } = first
  await rig.key('one')
  await setBackupPassphrase(rig)
  const backup = await takeBackup(rig, 'coffer')
  const damaged = await startAgain(t, first, (database) => {
    database
      .prepare("UPDATE keys SET sealed = CAST(substr(sealed, 1, 39) || x'00' || substr(sealed, 41) AS BLOB)")
      .run()
  })
  assert.ok(!damaged.alerts.current().some(({ id }) => id === 'store'), 'not known while Locked')
  await unlock(damaged)
  await expectShown(damaged, { store: 'critical' })
  await damaged.rig.appliance.lock()
  assert.ok(
    damaged.alerts.current().some(({ id }) => id === 'store'),
    'stays while nothing is known',
  )
  await unlock(damaged)
  assert.equal((await restore(damaged.rig, { backupPassphrase: BACKUP }, backup)).status, 204)
  await expectShown(damaged, {})
})

test('store: the records cannot be opened, as they are not those of the last change', async (t) => {
  const first = await openAlerts(t)
  await first.rig.key('one')
  let rows: unknown[] = []
  const robbed = await startAgain(t, first, (database) => {
    rows = database.prepare('SELECT * FROM keys').safeIntegers().all()
    database.prepare('DELETE FROM keys').run()
  })
  await assert.rejects(unlock(robbed))
  assert.deepEqual(
    robbed.alerts.current().map(({ id, level }) => [id, level]),
    [['store', 'critical']],
  )
  const whole = await startAgain(t, robbed, (database) => {
    for (const row of rows) database.prepare('INSERT INTO keys (slot, sealed) VALUES (@slot, @sealed)').run(row)
  })
  await unlock(whole)
  await expectShown(whole, FRESH)
})

interface Others {
  lostMs: number
  behindMs: number
  refusal: string | null
  spaceProblem: string | null
}

const WITHOUT_OTHERS: Others = { lostMs: 0, behindMs: 0, refusal: null, spaceProblem: null }

test('cluster: the others do not answer, or this node is behind them, has no room, or refuses what they hold', async (t) => {
  const others = { ...WITHOUT_OTHERS }
  const fresh = await openAlerts(t)
  const { appliance } = fresh.rig
  const member = new Proxy(appliance, {
    get: (target, name) => {
      if (name === 'replica') return others
      return name === 'cluster' ? { node: others } : Reflect.get(target, name, target)
    },
  })
  const { alerts } = await openAlerts(t, { appliance: member })
  const level = () => alerts.current().find(({ id }) => id === 'cluster')?.level
  assert.equal(level(), undefined)
  for (const [what, expected] of [
    [{ lostMs: 59_999, behindMs: 59_999 }, undefined],
    [{ lostMs: 60_000 }, 'critical'],
    [{}, undefined],
    [{ behindMs: 60_000 }, 'warning'],
    [{ refusal: 'an older copy' }, 'critical'],
    [{ spaceProblem: 'full' }, 'critical'],
    [{}, undefined],
  ] as [Partial<Others>, string | undefined][]) {
    Object.assign(others, WITHOUT_OTHERS, what)
    assert.equal(level(), expected, JSON.stringify(what))
  }
})

test('clock: a time server is not heard for an hour', async (t) => {
  const opened = await openAlerts(t)
  const { alerts, pass } = opened
  const hear = (isHeard: boolean) => alerts.receive({ type: 'timeServer', isHeard })
  pass(2 * HOUR_MS)
  await expectShown(opened, FRESH) // none is set
  await put(opened, '/config/ntp', { ntpIP: '192.0.2.7' })
  hear(false)
  pass(HOUR_MS - 1)
  await expectShown(opened, FRESH)
  pass(1)
  await expectShown(opened, WARNED('clock'))
  hear(true)
  await expectShown(opened, FRESH)
  hear(false)
  pass(HOUR_MS)
  await expectShown(opened, WARNED('clock'))
  await put(opened, '/config/ntp', {})
  await expectShown(opened, FRESH)
})

test('clock: on a host the owner sets it', async (t) => {
  const opened = await openAlerts(t, { setsClock: false })
  await put(opened, '/config/ntp', { ntpIP: '192.0.2.7' })
  opened.pass(2 * HOUR_MS)
  await expectShown(opened, FRESH)
})

test('each alert has the time since when, also after it has become critical', async (t) => {
  const { rig, disk } = await openAlerts(t)
  const first = async () => (await rig.call('GET', '/alerts', { as: 'admin' })).json()[0]
  disk.freeBytes = 9 * GIB
  const { id, since, text } = await first()
  assert.deepEqual([id, text], ['disk', '9216 of 102400 MiB of the disk are free.'])
  assert.ok(Math.abs(Date.parse(since) - rig.appliance.clock.now()) < MINUTE_MS)
  rig.appliance.setTime(rig.appliance.clock.now() + HOUR_MS)
  disk.freeBytes = 1 * GIB
  const later = await first()
  assert.deepEqual([later.level, later.since], ['critical', since])
})

test('the metrics have each condition, for callers outside any namespace', async (t) => {
  const { rig, disk } = await openAlerts(t)
  const metrics = async (as: string) => {
    const { text } = await rig.call('GET', '/metrics', { as, headers: { accept: 'text/plain' } })
    const found = [...text().matchAll(/^coffer_alert\{id="([a-z-]+)"\} (\d)$/gm)]
    return Object.fromEntries(found.map(([, id, value]) => [id, Number(value)]))
  }
  const none = Object.fromEntries(ALERT_IDS.map((id) => [id, 0]))
  assert.deepEqual(await metrics('metrics'), { ...none, backup: 1 })
  disk.freeBytes = GIB
  assert.deepEqual(await metrics('metrics'), { ...none, backup: 1, disk: 2 })
  await rig.user('team~gauge', 'Metrics')
  assert.deepEqual(await metrics('team~gauge'), {})
})
