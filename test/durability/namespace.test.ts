// @test long 30
/** Nothing is left of a deleted namespace, however often the process is killed meanwhile. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { credentialsOf, fillStore, UNLOCK } from '../backup/fill-store.ts'
import { expect } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../support/process.ts'

const KEYS = 3000 // every third of them in the namespace
const KILLS = 4
const ADMIN = credentialsOf('admin')

let program: string
before(async () => {
  program = await buildForTests()
})

test(`a namespace of ${KEYS / 3} keys is deleted to the last record through ${KILLS} kills`, async (t) => {
  const data = makeDataDirectory(t)
  await fillStore(data, KEYS)
  const start = async (): Promise<Coffer> => {
    const coffer = startCoffer(t, { program, data, settings: { COFFER_LOG: 'warning' } })
    await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
    return coffer
  }
  let coffer = await start()
  await expect(204, coffer.call('DELETE', '/namespaces/team', { as: ADMIN }))
  let interrupted = 0
  for (let kill = 1; kill <= KILLS; kill++) {
    await wait(Math.random() * 60)
    if ((await coffer.call('PUT', '/namespaces/team', { as: ADMIN })).status === 204) break
    interrupted++
    await coffer.kill(kill % 2 === 0)
    coffer = await start()
    assert.equal((await expect(200, coffer.call('GET', '/namespaces', { as: ADMIN }))).text(), '[]')
  }
  assert.ok(interrupted > 0)
  while ((await coffer.call('PUT', '/namespaces/team', { as: ADMIN })).status === 503) await wait(20)
  const chief = { as: credentialsOf('team~chief') }
  assert.equal((await expect(200, coffer.call('GET', '/keys', chief))).text(), '[]')
  assert.equal(await coffer.stop(), 0)
  const database = new Database(join(data, 'store', 'store.db'), { readonly: true })
  const rows = (table: string) => database.prepare(`SELECT count(*) FROM "${table}"`).pluck().get()
  assert.deepEqual(['keys', 'privateKeys'].map(rows), [(KEYS / 3) * 2, (KEYS / 3) * 2])
  database.close()
})
