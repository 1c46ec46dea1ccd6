/** A store that somebody with the disk, and no key, has changed while the appliance was off. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { createRig, hasCode, PROVISIONING, type Rig, UNLOCK } from './rig.ts'

const REFUSED = /are not those of the last change/

/** A closed store with two notes, of which one was removed and one written anew since its rows were copied. */
async function setup(t: TestContext) {
  const rig = createRig(t)
  const appliance = await rig.open()
  await appliance.provision(PROVISIONING)
  await appliance.open().write('gone', 'first')
  await appliance.open().write('changed', 'first')
  appliance.close()
  const copy = edit(rig, (database) => ['users', 'privateKeys'].map((table) => rowsOf(database, table)))
  const again = await rig.open()
  await again.unlock(UNLOCK)
  await again.open().remove('gone')
  await again.open().write('changed', 'second')
  again.close()
  return { rig, users: copy[0]!, privateKeys: copy[1]! }
}

interface Row {
  slot: bigint
  sealed: Uint8Array
}

const rowsOf = (database: Sqlite.Database, table: string): Row[] =>
  database.prepare(`SELECT slot, sealed FROM "${table}"`).safeIntegers().all() as Row[]

function edit<T>(rig: Rig, change: (database: Sqlite.Database) => T): T {
  const database = new Sqlite(join(rig.directory, 'store.db'))
  try {
    return change(database)
  } finally {
    database.close()
  }
}

const putBack = (rig: Rig, table: string, rows: readonly Row[]): void =>
  edit(rig, (database) => {
    for (const { slot, sealed } of rows)
      database.prepare(`INSERT OR REPLACE INTO "${table}" (slot, sealed) VALUES (?, ?)`).run(slot, sealed)
  })

test('with a deleted user brought back the appliance stays Locked and says why, each time', async (t) => {
  const { rig, users } = await setup(t)
  putBack(rig, 'users', users)
  const appliance = await rig.open()
  for (let attempt = 0; attempt < 2; attempt++) {
    await assert.rejects(appliance.unlock(UNLOCK), hasCode('storage', REFUSED))
    assert.equal(appliance.state, 'Locked')
    assert.match(appliance.openFailure!, REFUSED)
  }
  assert.ok(rig.messages.some((message) => REFUSED.test(message)))
})

test('a start without a passphrase is no way around it', async (t) => {
  const rig = createRig(t)
  const first = await rig.open()
  await first.provision(PROVISIONING)
  first.setUnattendedBoot(true)
  await first.open().write('note', 'content')
  first.close()
  edit(rig, (database) => database.exec('DELETE FROM users WHERE slot IN (SELECT slot FROM users LIMIT 1)'))
  const second = await rig.open()
  assert.equal(second.state, 'Locked')
  assert.match(second.openFailure!, /1 of them missing/)
})

test('with an older private record put back it opens, says so soon, and takes no change any more', async (t) => {
  const { rig, privateKeys } = await setup(t)
  putBack(rig, 'privateKeys', privateKeys)
  const appliance = await rig.open()
  await appliance.unlock(UNLOCK)
  while (!rig.messages.some((message) => REFUSED.test(message))) await wait(20)
  assert.equal(appliance.state, 'Operational')
  await assert.rejects(appliance.open().write('more', 'content'), hasCode('storage', REFUSED))
  assert.equal(appliance.open().names.has('more'), false)
})

test('without any tampering nothing is said, however often it is locked and unlocked', async (t) => {
  const { rig } = await setup(t)
  const appliance = await rig.open()
  for (let round = 0; round < 3; round++) {
    await appliance.unlock(UNLOCK)
    await appliance.open().write(`round ${round}`, 'content')
    await wait(120)
    appliance.lock()
  }
  assert.deepEqual(
    rig.messages.filter((message) => /record|counters/.test(message)),
    [],
  )
})
