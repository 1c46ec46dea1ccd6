// @test long 95
/** Both processes are killed at random moments: answered changes are in the audit log, and its chain holds. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { AuditHead, AuditLine } from '../../firmware/audit/chain.ts'
import { ADMIN, expect, provision, stateOf } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { request } from '../support/client.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../support/process.ts'

const COMMAND = fileURLToPath(new URL('../../tools/coffer/main.ts', import.meta.url))
const KILLS = 12
const LIFE_MS_MAX = 2500
const LOST_MS_MAX = 2000 // a second at most until a group is written, and what that takes on a busy machine
const USED = 'used'
const KIND = { type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
const OPERATOR = 'signer:operator passphrase'

let program: string
before(async () => {
  program = await buildForTests()
})

interface Ledger {
  next: number
  /** Keys whose making was answered. */
  made: string[]
  /** When uses of one key were answered in this life. */
  usedMs: number[]
  onMade: () => void
}

test(`no answered change is lost in ${KILLS} kills, and the chain holds`, { timeout: 300_000 }, async (t) => {
  const data = makeDataDirectory(t)
  const file = join(makeDataDirectory(t), 'audit.jsonl')
  const settings = { COFFER_LOG: 'warning' }
  let coffer = startCoffer(t, { program, data, settings })
  await provision(coffer)
  const operator = { realName: 'Signer', role: 'Operator', passphrase: OPERATOR.split(':')[1] }
  await expect(201, coffer.call('PUT', '/users/signer', { as: ADMIN, json: operator }))
  await expect(204, coffer.call('PUT', '/config/unattended-boot', { as: ADMIN, json: { status: 'on' } }))
  await expect(201, coffer.call('POST', '/keys/generate', { as: ADMIN, json: { id: USED, ...KIND } }))

  const ledger: Ledger = { next: 0, made: [], usedMs: [], onMade: () => {} }
  let known: string[] = []
  let lives = 0
  let kept = 0
  let lost = 0
  for (let kill = 1; kill <= KILLS; kill++) {
    const before = ledger.made.length
    const made = new Promise<void>((resolve) => {
      ledger.onMade = resolve
    })
    const isChanging = kill % 3 !== 0 // each change brings the uses before it to the disk; without, they go in their own time
    const working = Promise.all([use(coffer, ledger), ...(isChanging ? [change(coffer, ledger)] : [])])
    if (isChanging) await Promise.race([made, working]) // a change is seen, however slow the computer is
    await wait(Math.random() * LIFE_MS_MAX + (isChanging ? 0 : LOST_MS_MAX))
    const killedMs = performance.now()
    await coffer.kill(true)
    await working
    if (ledger.made.length > before) lives++

    coffer = startCoffer(t, { program, data, settings })
    assert.equal(await stateOf(coffer), 'Operational')
    const text = (await expect(200, coffer.call('GET', '/audit/export', { as: ADMIN }))).text()
    writeFileSync(file, text)
    const verify = [COMMAND, 'audit', 'verify', file, ...known]
    const verified = spawnSync(process.execPath, verify, { encoding: 'utf8' })
    assert.equal(verified.status, 0, verified.stdout + verified.stderr)
    const values = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const { head } = values.pop() as { head: AuditHead }
    known = ['--key', head.key, '--known', `${head.sequence}:${head.hash}`] // what the next life must go on from

    const lines = values as AuditLine[]
    const written = new Set(lines.filter(({ result }) => result === 201).map(({ key }) => key))
    for (const key of ledger.made) assert.ok(written.has(key), `the line of ${key} is gone`)
    // They are written in the order in which they were answered; one more may have been under way.
    const uses = lines.filter(({ action, result }) => action === 'POST /keys/{id}/sign' && result === 200).length
    const due = ledger.usedMs.filter((atMs) => killedMs - atMs > LOST_MS_MAX).length
    assert.ok(uses - kept >= due, `of ${due} uses that are long enough ago, ${uses - kept} have lines`)
    lost += Math.max(0, ledger.usedMs.length - (uses - kept))
    kept = uses
    ledger.usedMs = []
  }
  assert.ok(lives > KILLS / 2, `work was under way in ${lives} lives only`)
  assert.equal(await coffer.stop(), 0)
  t.diagnostic(`${ledger.made.length} changes, ${kept} uses kept, ${lost} lost`)
})

test('a clean stop loses nothing', { timeout: 120_000 }, async (t) => {
  const data = makeDataDirectory(t)
  let coffer = startCoffer(t, { program, data })
  await provision(coffer)
  await expect(204, coffer.call('PUT', '/config/unattended-boot', { as: ADMIN, json: { status: 'on' } }))
  const operator = { realName: 'Signer', role: 'Operator', passphrase: OPERATOR.split(':')[1] }
  await expect(201, coffer.call('PUT', '/users/signer', { as: ADMIN, json: operator }))
  await expect(404, coffer.call('POST', '/keys/nothing/sign', { as: OPERATOR, json: {} }))
  assert.equal(await coffer.stop(), 0)
  coffer = startCoffer(t, { program, data })
  const { lines } = (await expect(200, coffer.call('GET', '/audit?limit=1', { as: ADMIN }))).json<{
    lines: AuditLine[]
  }>()
  assert.deepEqual([lines[0]!.key, lines[0]!.result, lines[0]!.address], ['nothing', 404, '127.0.0.1'])
})

const change = (coffer: Coffer, ledger: Ledger): Promise<void> =>
  untilCut(coffer, async (call) => {
    const id = `key-${ledger.next++}`
    assert.equal(await call('/keys/generate', ADMIN, { id, ...KIND }), 201)
    ledger.made.push(id)
    ledger.onMade()
  })

const use = (coffer: Coffer, ledger: Ledger): Promise<void> =>
  untilCut(coffer, async (call) => {
    assert.equal(await call(`/keys/${USED}/sign`, OPERATOR, { mode: 'EdDSA', message: 'YWJj' }), 200)
    ledger.usedMs.push(performance.now())
  })

type Post = (path: string, as: string, json: unknown) => Promise<number>

/** Repeats the step until the connection breaks. */
async function untilCut(coffer: Coffer, step: (call: Post) => Promise<void>): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
  const target = { ...(await coffer.target()), agent }
  try {
    for (;;) {
      await step(async (path, as, json) => (await request(target, 'POST', `/api/v1${path}`, { as, json })).status)
    }
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error
  } finally {
    agent.destroy()
  }
}
