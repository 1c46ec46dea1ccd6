// @test long 170
/** A program creates and deletes keys while both processes are killed at random moments: what was answered, holds. */

import assert from 'node:assert/strict'
import { cpSync, readdirSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { ADMIN, expect, provision, stateOf, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { request } from '../support/client.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../support/process.ts'

const KILLS = 50
const ATTENDED_KILLS = 15 // the last ones, each followed by a real unlock
const ANSWERS_MAX = 8 // before a kill: 0 to 7, in turn, however fast the computer is
const KILL_MS_MAX = 60 // after them, at random: about as long as the next answer takes
const CLIENTS = 2
const OPERATOR = 'signer:operator passphrase'

let program: string
before(async () => {
  program = await buildForTests()
})

/** What the clients know: a request without an answer may have happened or not. */
interface Ledger {
  present: Set<string>
  absent: Set<string>
  uncertain: Set<string>
  next: number
  onAnswer: () => void
}

test(`what was answered survives ${KILLS} kills, and no key is half made`, { timeout: 600_000 }, async (t) => {
  const data = makeDataDirectory(t)
  const ledger: Ledger = { present: new Set(), absent: new Set(), uncertain: new Set(), next: 0, onAnswer: () => {} }
  const signed = new Set<string>()
  let coffer = startCoffer(t, { program, data, settings: { COFFER_LOG: 'warning' } })
  await provision(coffer)
  const operator = { realName: 'Signer', role: 'Operator', passphrase: OPERATOR.split(':')[1] }
  await expect(201, coffer.call('PUT', '/users/signer', { as: ADMIN, json: operator }))
  await expect(204, coffer.call('PUT', '/config/unattended-boot', { as: ADMIN, json: { status: 'on' } }))

  let lives = 0
  for (let kill = 1; kill <= KILLS; kill++) {
    if (kill === KILLS - ATTENDED_KILLS) {
      await expect(204, coffer.call('PUT', '/config/unattended-boot', { as: ADMIN, json: { status: 'off' } }))
    }
    const before = ledger.present.size
    const answers = answered(ledger, kill % ANSWERS_MAX)
    const working = Promise.all(Array.from({ length: CLIENTS }, () => work(coffer, ledger)))
    await Promise.race([answers, working])
    await wait(Math.random() * KILL_MS_MAX)
    const both = kill % 2 === 0 // every other time the firmware is left to find out by itself
    await coffer.kill(both)
    await working
    if (ledger.present.size > before) lives++

    if (both) assertIntegrity(t, data)
    coffer = startCoffer(t, { program, data, settings: { COFFER_LOG: 'warning' } })
    if (kill >= KILLS - ATTENDED_KILLS) {
      assert.equal(await stateOf(coffer), 'Locked')
      await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
    }
    assert.equal(await stateOf(coffer), 'Operational')
    await reconcile(coffer, ledger)
    for (const id of ledger.present) {
      if (signed.has(id)) continue
      await assertWhole(coffer, id)
      signed.add(id)
    }
  }
  // The control: the killing hit a working appliance, not an idle one.
  assert.ok(lives > KILLS / 2, `work was under way in ${lives} lives only`)
  assert.ok(ledger.present.size > 100, `${ledger.present.size} keys`)
  for (const id of ledger.present) await assertWhole(coffer, id)
  assert.equal(await coffer.stop(), 0)
  t.diagnostic(`${ledger.present.size} keys kept, ${ledger.absent.size} deleted, ${lives} lives with work`)
})

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
      ledger.present.add(id)
      if (ledger.next % 5 !== 0) continue
      ledger.present.delete(id)
      if (!(await ask(id, 'DELETE', `/keys/${id}`))) return
      ledger.absent.add(id)
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
