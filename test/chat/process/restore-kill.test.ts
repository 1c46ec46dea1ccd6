// @test long 30 slow
/**
 * A restore that is killed at any moment leaves keys and chat of before, or those of the backup: on a running Coffer and on a
 * fresh one, whether all processes end at once, or the firmware or the chat alone.
 */

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ADMIN, expect, stateOf, UNLOCK_PASSPHRASE } from '../../support/appliance.ts'
import { buildForTests } from '../../support/build.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../../support/process.ts'
import { backUp, mark, markOf, provisionForBackups, restore } from '../support/backups.ts'
import { type Account, chatPid, keyOf, makeOrganization, reach } from '../support/process.ts'

const isSlow = process.env.COFFER_SLOW !== undefined
const RUNNING_KILLS = isSlow ? 80 : 6
const FRESH_KILLS = isSlow ? 20 : 2
const SETTINGS = { COFFER_CHAT_PORT: '0' }
const MARKS = ['Mark One', 'Mark Two'] as const

let program: string
before(async () => {
  program = await buildForTests()
})

const start = (t: TestContext, data: string) => startCoffer(t, { program, data, settings: SETTINGS })
const generations = (data: string) => readdirSync(join(data, 'chat'))

/** All at once, as in a power cut; or one of them, whose work the others take up again. */
async function killSomebody(t: TestContext, coffer: Coffer, data: string, kill: number): Promise<Coffer> {
  const whom = ['all', 'firmware', 'chat'][kill % 3]!
  const chat = whom === 'firmware' ? null : await chatPid(coffer).catch(() => null)
  if (whom === 'firmware') process.kill(await coffer.firmwarePid(), 'SIGKILL')
  if (chat !== null)
    try {
      process.kill(chat, 'SIGKILL')
    } catch {} // another takes its place just now
  if (whom === 'firmware') await coffer.see(/The firmware ended with SIGKILL/)
  if (whom !== 'all') return coffer
  await coffer.kill(true)
  return start(t, data)
}

async function stateAfter(coffer: Coffer, account: Account): Promise<string> {
  const { port } = await reach(coffer, 'running')
  const { realName } = (await expect(200, coffer.call('GET', '/users/marked', { as: ADMIN }))).json<{
    realName: string
  }>()
  assert.equal(await markOf(port!, account), realName)
  return realName
}

async function operational(coffer: Coffer): Promise<void> {
  for (;;) {
    const state = await stateOf(coffer).catch(() => null) // it is being started again
    if (state === 'Operational') return
    if (state === 'Locked')
      await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
    await wait(50)
  }
}

test(`${RUNNING_KILLS + FRESH_KILLS} kills during restores leave keys and chat of one state`, {
  timeout: isSlow ? 3_600_000 : 600_000,
}, async (t) => {
  const data = makeDataDirectory(t)
  let coffer = start(t, data)
  await coffer.target()
  await provisionForBackups(coffer)
  await expect(204, coffer.call('PUT', '/config/unattended-boot', { as: ADMIN, json: { status: 'on' } }))
  await makeOrganization(coffer)
  const { port } = await reach(coffer, 'running')
  const account = await keyOf(port!)
  const backups: Buffer[] = []
  for (const name of MARKS) {
    const json = { realName: name, role: 'Metrics', passphrase: 'a passphrase of a mark' }
    await coffer.call('DELETE', '/users/marked', { as: ADMIN })
    await expect(201, coffer.call('PUT', '/users/marked', { as: ADMIN, json }))
    await mark(port!, account, name)
    backups.push(await backUp(coffer))
  }

  let now = 1
  let windowMs = 0
  for (const next of [0, 1]) {
    const started = performance.now()
    await expect(204, restore(coffer, backups[next]!, ADMIN))
    windowMs = (performance.now() - started) * 1.2
    assert.equal(await stateAfter(coffer, account), MARKS[next])
  }
  const seen = { old: 0, new: 0, unanswered: 0 }
  for (let kill = 0; kill < RUNNING_KILLS; kill++) {
    const next = 1 - now
    const answer = restore(coffer, backups[next]!, ADMIN).then(
      ({ status }) => status,
      () => null,
    )
    await wait(Math.random() * windowMs)
    coffer = await killSomebody(t, coffer, data, kill)
    const status = await answer
    await operational(coffer)
    const state = MARKS.indexOf((await stateAfter(coffer, account)) as (typeof MARKS)[number])
    if (status === 204) assert.equal(state, next, 'answered, and not done')
    assert.equal(generations(data).length, 1, 'what is left over has gone')
    seen[state === next ? 'new' : 'old']++
    if (status === null) seen.unanswered++
    windowMs *= state === next ? 0.85 : 1.1 // follows the load of the machine, so that both outcomes are met
    now = state
  }
  t.diagnostic(JSON.stringify(seen))
  await coffer.stop()
  if (isSlow) assert.ok(seen.old >= 5 && seen.new >= 5 && seen.unanswered > 5, JSON.stringify(seen))
  await killFreshRestores(t, backups[0]!, account)
})

async function killFreshRestores(t: TestContext, backup: Buffer, account: Account): Promise<void> {
  let lastsMs = 0
  for (let kill = 0; kill <= FRESH_KILLS; kill++) {
    const data = makeDataDirectory(t)
    let coffer = start(t, data)
    await coffer.target()
    const started = performance.now()
    const answer = restore(coffer, backup).then(
      ({ status }) => status,
      () => null,
    )
    if (kill === 0) {
      assert.equal(await answer, 204)
      lastsMs = performance.now() - started
    } else await wait(lastsMs * (0.4 + Math.random() * 0.7))
    const chat = await Promise.race([chatPid(coffer), wait(0)])
    if (typeof chat === 'number') process.kill(chat, 'SIGKILL')
    await coffer.kill(true)
    const status = await answer
    coffer = start(t, data)
    await coffer.target()
    // One that was cut short can be repeated, and what it left is not in its way.
    const state = await stateOf(coffer)
    if (state === 'Unprovisioned') {
      assert.notEqual(status, 204)
      await expect(204, restore(coffer, backup))
    } else assert.equal(state, 'Locked')
    await operational(coffer)
    assert.equal(await stateAfter(coffer, account), MARKS[0])
    assert.equal(generations(data).length, 1)
    await coffer.stop()
  }
}
