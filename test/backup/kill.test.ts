// @test long 240
/** A restore killed at any moment leaves the old state or the new one, row by row. Contract section 8.3. */

import assert from 'node:assert/strict'
import { Agent, request as httpsRequest } from 'node:https'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { BackupFormat } from '../../firmware/backup/backups.ts'
import { expect, stateOf } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { basic } from '../support/client.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../support/process.ts'
import { BACKUP, credentialsOf, fillStore, UNLOCK } from './fill-store.ts'
import { digestStore, filesOf } from './rig.ts'

const KILLS = 50
const FULL_KILLS = 8 // of a fresh instance, where the passphrase is derived first
const ADOPTION_KILLS = 5
const KEYS = 2000
const ADMIN = credentialsOf('admin')
const SETTINGS = { COFFER_LOG: 'warning' }
const REPLACED = ['users', 'namespaces', 'keys', 'privateKeys', 'certificates', 'configuration']

let program: string
before(async () => {
  program = await buildForTests()
})

test(`${KILLS} kills during restores leave the old or the new state`, { timeout: 600_000 }, async (t) => {
  const data = makeDataDirectory(t)
  const store = join(data, 'store')
  await fillStore(data, KEYS)
  const start = () => startCoffer(t, { program, data, settings: SETTINGS })
  let coffer = start()
  await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
  await expect(204, coffer.call('PUT', '/config/unattended-boot', { as: ADMIN, json: { status: 'on' } }))
  const backups = [await backupOf(coffer)]
  const digests = [digestStore(store, REPLACED)]
  await expect(204, coffer.call('DELETE', '/namespaces/team', { as: ADMIN }))
  // Its name is free once the last of its records is gone.
  while ((await coffer.call('PUT', '/namespaces/team', { as: ADMIN })).status === 503) await wait(50)
  await expect(204, coffer.call('DELETE', '/namespaces/team', { as: ADMIN }))
  await expect(204, coffer.call('DELETE', '/users/team~chief', { as: ADMIN }))
  await expect(204, coffer.call('PUT', '/keys/key-0/label', { as: ADMIN, json: { label: 'the other state' } }))
  backups.push(await backupOf(coffer))
  digests.push(digestStore(store, REPLACED))
  assert.notEqual(digests[0], digests[1])

  // How long a restore takes here and now, so that the kills fall into it.
  let lastsMs = 0
  let now = 1
  for (const next of [0, 1]) {
    const started = performance.now()
    assert.equal(await restore(coffer, backups[next]!), 204)
    lastsMs = performance.now() - started
    assert.equal(digestStore(store, REPLACED), digests[next])
  }
  let windowMs = lastsMs * 1.2 // follows the load of the machine, so that both outcomes are met
  const seen = { old: 0, new: 0, unanswered: 0 }
  for (let kill = 1; kill <= KILLS; kill++) {
    const next = 1 - now
    const answer = restore(coffer, backups[next]!)
    await wait(Math.random() * windowMs)
    await coffer.kill(true)
    const status = await answer
    const state = digests.indexOf(digestStore(store, REPLACED))
    assert.notEqual(state, -1, 'a mixture')
    assert.ok(status === null || (status === 204 && state === next), `answered ${status}, state ${state}`)
    seen[state === next ? 'new' : 'old']++
    if (status === null) seen.unanswered++
    windowMs *= state === next ? 0.85 : 1.1
    now = state
    coffer = start()
    assert.equal(await stateOf(coffer), 'Operational')
    assert.deepEqual(filesOf(store), [])
    const label = (await expect(200, coffer.call('GET', '/keys/key-0', { as: ADMIN }))).json<{ label: string }>().label
    assert.equal(label === 'the other state', now === 1)
  }
  t.diagnostic(`a restore takes ${lastsMs.toFixed(0)} ms; ${JSON.stringify(seen)}`)
  // The control: the kills hit restores under way, some before and some after the moment that counts.
  assert.ok(seen.old >= 5 && seen.new >= 5 && seen.unanswered > KILLS / 3, JSON.stringify(seen))
  assert.equal(await coffer.stop(), 0)

  await killFullRestores(t, backups[0]!, digests[0]!)
})

async function killFullRestores(t: TestContext, backup: Buffer, digest: string): Promise<void> {
  const query = `?${new URLSearchParams({ backupPassphrase: BACKUP })}`
  let lastsMs = 0
  for (let kill = 0; kill <= FULL_KILLS; kill++) {
    const data = makeDataDirectory(t)
    const start = () => startCoffer(t, { program, data, settings: SETTINGS })
    let coffer = start()
    assert.equal(await stateOf(coffer), 'Unprovisioned')
    const empty = digestStore(join(data, 'store'), REPLACED)
    const started = performance.now()
    const answer = restore(coffer, backup, query)
    if (kill === 0) {
      assert.equal(await answer, 204)
      lastsMs = performance.now() - started
      assert.equal(digestStore(join(data, 'store'), REPLACED), digest)
    } else await wait(lastsMs * (0.5 + Math.random() * 0.6))
    await coffer.kill(true)
    const status = await answer
    const state = [empty, digest].indexOf(digestStore(join(data, 'store'), REPLACED))
    assert.notEqual(state, -1, 'a mixture')
    assert.ok(status === null || (status === 204 && state === 1))
    coffer = start()
    assert.equal(await stateOf(coffer), state === 0 ? 'Unprovisioned' : 'Locked')
    await coffer.kill(true)
  }
}

/** The status, or null when the connection broke. Without a query the current passphrase does. */
async function restore(coffer: Coffer, backup: Buffer, query = ''): Promise<number | null> {
  const { host, port } = await coffer.target()
  const agent = new Agent({ rejectUnauthorized: false })
  const boundary = 'between-the-parts'
  const part = (name: string, content: string | Buffer) =>
    Buffer.concat([
      Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n`),
      Buffer.from(content as Buffer),
      Buffer.from('\r\n'),
    ])
  const form = Buffer.concat([part('arguments', '{}'), part('backup', backup), Buffer.from(`--${boundary}--\r\n`)])
  const type = query === '' ? `multipart/form-data; boundary=${boundary}` : 'application/octet-stream'
  const headers = { authorization: basic(ADMIN), 'content-type': type }
  const path = `/api/v1/system/restore${query}`
  return new Promise((resolve) => {
    httpsRequest({ host, port, agent, headers, method: 'POST', path }, (answer) => {
      answer.resume().on('error', () => {})
      resolve(answer.statusCode!)
    })
      .on('error', () => resolve(null))
      .end(query === '' ? form : backup)
  })
}

async function backupOf(coffer: Coffer, format: BackupFormat = 'coffer'): Promise<Buffer> {
  return (await expect(200, coffer.call('POST', `/system/backup?format=${format}`, { as: credentialsOf('saver') })))
    .bytes
}

test(`${ADOPTION_KILLS} kills between a restore and its end, in the form of a NetHSM, lose nothing`, {
  timeout: 600_000,
}, async (t) => {
  const made = makeDataDirectory(t)
  await fillStore(made, KEYS)
  const source = startCoffer(t, { program, data: made, settings: SETTINGS })
  const unlock = (coffer: Coffer) => coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK } })
  await expect(204, unlock(source))
  const keysOf = async (coffer: Coffer) => (await expect(200, coffer.call('GET', '/keys', { as: ADMIN }))).text()
  const keys = await keysOf(source)
  const backup = await backupOf(source, 'nethsm')
  assert.equal(await source.stop(), 0)

  const data = makeDataDirectory(t)
  const start = () => startCoffer(t, { program, data, settings: SETTINGS })
  let coffer = start()
  assert.equal(await restore(coffer, backup, `?${new URLSearchParams({ backupPassphrase: BACKUP })}`), 204)
  let unfinished = 0
  for (let kill = 1; kill <= ADOPTION_KILLS; kill++) {
    const unlocked = unlock(coffer).then(
      ({ status }) => status,
      () => null,
    )
    await wait(500 + Math.random() * 1500)
    await coffer.kill(true)
    if ((await unlocked) === null) unfinished++
    coffer = start()
    assert.equal(await stateOf(coffer), 'Locked')
  }
  t.diagnostic(`${unfinished} of ${ADOPTION_KILLS} kills came before the unlock had ended`)
  await expect(204, unlock(coffer))
  assert.equal(await keysOf(coffer), keys)
  assert.equal(await coffer.stop(), 0)
})
