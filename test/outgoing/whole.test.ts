/** Outgoing connections of a whole Coffer: a bot's webhook has them made by a process of its own, which a lock replaces. */

import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { askWebhook, keyOf, makeOrganization, reach, statusOf } from '../chat/support/process.ts'
import { ADMIN, expect, provision, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { childrenOf, commandLineOf } from '../support/proc.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../support/process.ts'

const HOST = 'hooks.invalid' // RFC 6761: no resolver knows it
const HOST_OUTGOING_ID = 60_703
const DEADLINE_MS = 60_000 // the machine may be busy

const outgoingPids = (coffer: Coffer): number[] =>
  childrenOf(coffer.bootPid()).filter((pid) => commandLineOf(pid).includes('/outgoing.js'))

/** Memory that no other process shares. */
const privateBytes = (pid: number): number =>
  [...readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').matchAll(/^Private_\w+:\s*(\d+) kB$/gm)].reduce(
    (sum, [, kilobytes]) => sum + Number(kilobytes) * 1024,
    0,
  )

async function open(t: TestContext) {
  const coffer = startCoffer(t, {
    program: await buildForTests(),
    data: makeDataDirectory(t),
    settings: { COFFER_CHAT_PORT: '0' },
  })
  await provision(coffer)
  await makeOrganization(coffer)
  const json = { outgoingHosts: [HOST] }
  await expect(204, coffer.call('PUT', '/chat/settings', { as: ADMIN, json }))
  return coffer
}

/** Makes a bot whose webhook cannot be reached, and returns what its owner is told. */
async function callWebhook(coffer: Coffer, name: string): Promise<string> {
  const { port } = await statusOf(coffer)
  return askWebhook(port!, await keyOf(port!), name, `http://${HOST}/`)
}

test('a webhook starts the process, a lock ends it, and the next webhook has another one', async (t) => {
  const coffer = await open(t)
  assert.deepEqual(outgoingPids(coffer), [])
  assert.match(await callWebhook(coffer, 'one'), /it could not be reached \(/)
  const [pid] = outgoingPids(coffer)
  assert.ok(pid !== undefined)
  if (process.geteuid!() === 0) assert.equal(statSync(`/proc/${pid}`).uid, HOST_OUTGOING_ID)

  const ratio = privateBytes(pid) / privateBytes(await coffer.firmwarePid())
  t.diagnostic(
    `its private memory is ${(privateBytes(pid) / 2 ** 20).toFixed(1)} MiB, ${ratio.toFixed(2)} of the firmware's`,
  )
  assert.ok(ratio <= 0.25, `${ratio}`)

  await expect(204, coffer.call('POST', '/lock', { as: ADMIN }))
  const deadline = Date.now() + DEADLINE_MS
  while (outgoingPids(coffer).length > 0) {
    assert.ok(Date.now() < deadline, coffer.output())
    await wait(20)
  }
  await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  await reach(coffer, 'running')
  assert.match(await callWebhook(coffer, 'two'), /it could not be reached \(/)
  const [next] = outgoingPids(coffer)
  assert.ok(next !== undefined && next !== pid)
})
