/**
 * A program makes, deletes and uses keys while both processes are killed at random moments: what was answered, holds, is in the
 * audit log, and the chain of that holds.
 */

import assert from 'node:assert/strict'
import { cpSync, readdirSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import Database from 'better-sqlite3'
import type { AuditLine } from '../../firmware/audit/chain.ts'
import { type Expectations, verifyExport } from '../../firmware/client/audit-verify.ts'
import { ADMIN, expect, provision, stateOf, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { request } from '../support/client.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../support/process.ts'

const ANSWERS_MAX = 8 // before a kill: 0 to 7, in turn, however fast the computer is
const KILL_MS_MAX = 60 // after them, at random: about as long as the next answer takes
const CLIENTS = 2
/** In every fifth life nothing is changed: a change brings the uses before it to the disk; without, they go in their own time. */
const USES_ONLY_EVERY = 5
const LOST_MS_MAX = 2000 // a second at most until a group is written, and what that takes on a busy machine
const USES_MS_MAX = 2500 // after that, at random
const USE_PAUSE_MS = 2 // fewer uses than their ring of the audit log holds, however fast the computer is
const USED = 'used'
const OPERATOR = 'signer:operator passphrase'

/** Knowledge of the clients: a request without an answer may have happened or not. */
interface Ledger {
  present: Set<string>
  absent: Set<string>
  uncertain: Set<string>
  next: number
  made: Set<string>
  deleted: Set<string>
  usedMs: number[]
  onAnswer: () => void
  onUse: () => void
}

/** After the last `attended` kills the appliance has to be unlocked. */
export async function surviveKills(t: TestContext, { kills, attended }: { kills: number; attended: number }) {
  const program = await buildForTests()
  const data = makeDataDirectory(t)
  const ledger: Ledger = {
    ...{ present: new Set(), absent: new Set(), uncertain: new Set(), next: 0 },
    ...{ made: new Set(), deleted: new Set(), usedMs: [], onAnswer: () => {}, onUse: () => {} },
  }
  const signed = new Set<string>()
  const start = () => startCoffer(t, { program, data, settings: { COFFER_LOG: 'warning' } })
  let coffer = start()
  await provision(coffer)
  const operator = { realName: 'Signer', role: 'Operator', passphrase: OPERATOR.split(':')[1] }
  await expect(201, coffer.call('PUT', '/users/signer', { as: ADMIN, json: operator }))
  await expect(204, coffer.call('PUT', '/config/unattended-boot', { as: ADMIN, json: { status: 'on' } }))
  const used = { id: USED, type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
  await expect(201, coffer.call('POST', '/keys/generate', { as: ADMIN, json: used }))
  const unlock = async () => {
    assert.equal(await stateOf(coffer), 'Locked')
    await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  }

  let known: Expectations = {}
  let changing = 0
  let lives = 0
  let kept = 0
  let lost = 0
  for (let kill = 1; kill <= kills; kill++) {
    if (kill === kills - attended)
      await expect(204, coffer.call('PUT', '/config/unattended-boot', { as: ADMIN, json: { status: 'off' } }))
    const before = ledger.made.size
    ledger.usedMs = []
    const onlyUses = kill % USES_ONLY_EVERY === 0
    const answers = answered(ledger, kill % ANSWERS_MAX)
    const firstUse = new Promise<void>((resolve) => {
      ledger.onUse = resolve
    })
    const working = Promise.all([
      use(coffer, ledger),
      ...Array.from({ length: onlyUses ? 0 : CLIENTS }, () => work(coffer, ledger)),
    ])
    await Promise.race([onlyUses ? firstUse : answers, working])
    await wait(onlyUses ? LOST_MS_MAX + Math.random() * USES_MS_MAX : Math.random() * KILL_MS_MAX)
    const killedMs = performance.now()
    const both = onlyUses || kill % 2 === 0 // every other time the firmware is left to find out by itself
    await coffer.kill(both)
    await working
    if (!onlyUses) changing++
    if (ledger.made.size > before) lives++

    if (both) assertIntegrity(t, data)
    coffer = start()
    if (kill >= kills - attended) await unlock()
    assert.equal(await stateOf(coffer), 'Operational')
    const audit = await auditLog(coffer, known)
    known = audit.known
    const uses = expectWritten(audit.lines, ledger)
    // They are written in the order in which they were answered; one more may have been under way.
    const due = ledger.usedMs.filter((atMs) => killedMs - atMs > LOST_MS_MAX).length
    if (onlyUses) assert.ok(due > 0, 'no use is long enough ago')
    assert.ok(uses - kept >= due, `of ${due} uses that are long enough ago, ${uses - kept} have lines`)
    lost += Math.max(0, ledger.usedMs.length - (uses - kept))
    kept = uses
    await reconcile(coffer, ledger)
    for (const id of ledger.present) {
      if (signed.has(id)) continue
      await assertWhole(coffer, id)
      signed.add(id)
    }
  }
  // The control: the killing hit a working appliance, not an idle one.
  assert.ok(lives > changing / 2, `work was under way in ${lives} of ${changing} lives only`)
  assert.ok(ledger.made.size > kills, `${ledger.made.size} keys`)
  for (const id of ledger.present) await assertWhole(coffer, id)
  t.diagnostic(
    `${ledger.present.size} keys kept, ${ledger.absent.size} deleted, ${lives} lives with work, ${kept} uses kept, ${lost} lost`,
  )

  await t.test('a clean stop loses nothing', async () => {
    await expect(404, coffer.call('POST', '/keys/nothing/sign', { as: OPERATOR, json: {} }))
    assert.equal(await coffer.stop(), 0)
    coffer = start()
    await unlock()
    const { lines } = (await expect(200, coffer.call('GET', '/audit?key=nothing', { as: ADMIN }))).json<{
      lines: AuditLine[]
    }>()
    assert.deepEqual(
      lines.map(({ key, result, address }) => [key, result, address]),
      [['nothing', 404, '127.0.0.1']],
    )
    await auditLog(coffer, known)
    assert.equal(await coffer.stop(), 0)
  })
}

/** The whole log, which goes on from what is known of it, and what the next one has to go on from. */
async function auditLog(coffer: Coffer, known: Expectations): Promise<{ lines: AuditLine[]; known: Expectations }> {
  const { bytes } = await expect(200, coffer.call('GET', '/audit/export', { as: ADMIN }))
  const { problems, notes, head } = await verifyExport(stream(bytes), known)
  assert.deepEqual([problems, notes], [[], []])
  const texts = bytes.toString().trimEnd().split('\n').slice(0, -1)
  const lines = texts.map((text) => JSON.parse(text) as AuditLine)
  return { lines, known: { key: head!.key, known: new Map([[head!.sequence, head!.hash]]) } }
}

async function* stream(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** Every answered change has its line. Returns how many uses have one. */
function expectWritten(lines: readonly AuditLine[], { made, deleted }: Ledger): number {
  const keysOf = (action: string, result: number) =>
    new Set(lines.filter((line) => line.action === action && line.result === result).map(({ key }) => key))
  const [making, deletion] = [keysOf('POST /keys/generate', 201), keysOf('DELETE /keys/{id}', 204)]
  for (const id of made) assert.ok(making.has(id), `the line of the making of ${id} is gone`)
  for (const id of deleted) assert.ok(deletion.has(id), `the line of the deletion of ${id} is gone`)
  return lines.filter(({ action, result, key }) => action === 'POST /keys/{id}/sign' && result === 200 && key === USED)
    .length
}

function answered(ledger: Ledger, count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count
    if (left === 0) resolve()
    ledger.onAnswer = () => {
      if (--left === 0) resolve()
    }
  })
}

/** Creates keys, deletes every fifth, until the connection breaks. */
async function work(coffer: Coffer, ledger: Ledger): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
  const target = { ...(await coffer.target()), agent }
  const ask = async (id: string, method: string, path: string, json?: unknown): Promise<boolean> => {
    ledger.uncertain.add(id)
    try {
      const { status, text } = await request(target, method, `/api/v1${path}`, { as: ADMIN, json })
      assert.ok(status === 201 || status === 204, `${method} ${path}: ${status} ${text()}`)
      ledger.uncertain.delete(id)
      ledger.onAnswer()
      return true
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error
      return false
    }
  }
  try {
    for (;;) {
      const id = `key-${ledger.next++}`
      const key = { id, type: 'EC_P256', mechanisms: ['ECDSA_Signature'], label: `label of ${id}` }
      if (!(await ask(id, 'POST', '/keys/generate', key))) return
      ledger.made.add(id)
      ledger.present.add(id)
      if (ledger.next % 5 !== 0) continue
      ledger.present.delete(id)
      if (!(await ask(id, 'DELETE', `/keys/${id}`))) return
      ledger.deleted.add(id)
      ledger.absent.add(id)
    }
  } finally {
    agent.destroy()
  }
}

async function use(coffer: Coffer, ledger: Ledger): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
  const target = { ...(await coffer.target()), agent }
  const call = { as: OPERATOR, json: { mode: 'EdDSA', message: 'YWJj' } }
  try {
    for (;;) {
      const answer = await request(target, 'POST', `/api/v1/keys/${USED}/sign`, call).catch(() => null)
      if (answer === null) return
      assert.equal(answer.status, 200, answer.text())
      ledger.usedMs.push(performance.now())
      ledger.onUse()
      await wait(USE_PAUSE_MS)
    }
  } finally {
    agent.destroy()
  }
}

/** Compares the list with what was answered, and learns what became of the rest. */
async function reconcile(coffer: Coffer, ledger: Ledger): Promise<void> {
  const list = (await expect(200, coffer.call('GET', '/keys', { as: ADMIN }))).json<{ id: string }[]>()
  const ids = new Set(list.map(({ id }) => id))
  assert.equal(ids.size, list.length)
  assert.ok(ids.delete(USED))
  for (const id of ledger.present) assert.ok(ids.has(id), `${id} was answered and is gone`)
  for (const id of ledger.absent) assert.ok(!ids.has(id), `${id} was deleted and is back`)
  for (const id of ids) {
    assert.ok(ledger.present.has(id) || ledger.uncertain.has(id), `${id} was never made`)
    ledger.present.add(id)
  }
  for (const id of ledger.uncertain) if (!ids.has(id)) ledger.absent.add(id)
  ledger.uncertain.clear()
}

async function assertWhole(coffer: Coffer, id: string): Promise<void> {
  const key = (await expect(200, coffer.call('GET', `/keys/${id}`, { as: ADMIN }))).json<{ label: string }>()
  assert.equal(key.label, `label of ${id}`)
  const json = { mode: 'ECDSA', message: Buffer.alloc(32, 1).toString('base64') }
  await expect(200, coffer.call('POST', `/keys/${id}/sign`, { as: OPERATOR, json }))
}

/** On a copy, so that the log is replayed there and not in the store under test. */
function assertIntegrity(t: TestContext, data: string): void {
  const copy = makeDataDirectory(t)
  cpSync(join(data, 'store'), copy, { recursive: true })
  const file = readdirSync(copy).find((file) => file.endsWith('.db'))!
  const database = new Database(join(copy, file))
  assert.deepEqual(database.pragma('integrity_check', { simple: true }), 'ok')
  database.close()
}
