import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import Database from 'better-sqlite3'
import { createRig, hasCode, PROVISIONING, UNLOCK } from '../appliance/rig.ts'

const NETWORK = { ipAddress: '10.98.76.54', netmask: '255.255.0.0', gateway: '10.98.0.1' }
const LOGGING = { ipAddress: '192.0.2.123', port: 5140, logLevel: 'warning' } as const
const DEFAULT_NETWORK = { ipAddress: '192.168.1.1', netmask: '255.255.255.0', gateway: '0.0.0.0' }

test('it can be read in every state, changed while Operational only, and is not in clear on the disk', async (t) => {
  const rig = createRig(t)
  const first = await rig.open()
  assert.deepEqual(first.configuration.network, DEFAULT_NETWORK)
  assert.throws(() => first.configuration.setNetwork(NETWORK), hasCode('unavailable'))
  await first.provision(PROVISIONING)
  const told: string[] = []
  first.configuration.onChange((part) => told.push(part))
  first.configuration.setNetwork(NETWORK)
  first.configuration.setLogging(LOGGING)
  assert.deepEqual(told, ['network', 'logging'])
  first.close()

  const second = await rig.open()
  assert.equal(second.state, 'Locked')
  assert.deepEqual(second.configuration.network, NETWORK)
  assert.deepEqual(second.configuration.logging, LOGGING)
  assert.throws(() => second.configuration.setLogging(LOGGING), hasCode('unavailable'))
  assert.throws(() => second.configuration.setNetwork(DEFAULT_NETWORK), hasCode('unavailable'))
  assert.deepEqual(second.configuration.network, NETWORK)
  await second.unlock(UNLOCK)
  second.configuration.setNetwork(DEFAULT_NETWORK)
  assert.deepEqual(second.configuration.network, DEFAULT_NETWORK)
  second.close()

  for (const name of readdirSync(rig.directory)) {
    const bytes = readFileSync(join(rig.directory, name))
    for (const text of [NETWORK.ipAddress, LOGGING.ipAddress, 'chain 1', 'key 1']) {
      assert.ok(!bytes.includes(text), `${text} in ${name}`)
    }
  }
})

test('records that are damaged are logged, give way to the defaults, and can be set again', async (t) => {
  const rig = createRig(t)
  const first = await rig.open()
  await first.provision(PROVISIONING)
  first.close()
  const path = join(rig.directory, readdirSync(rig.directory).find((name) => name.endsWith('.db'))!)
  const withDatabase = <T>(use: (database: Database.Database) => T): T => {
    const database = new Database(path)
    try {
      return use(database)
    } finally {
      database.close()
    }
  }
  const slotsIn = (database: Database.Database) =>
    database.prepare('SELECT slot FROM device').safeIntegers().pluck().all() as bigint[]
  const former = new Set(withDatabase(slotsIn))
  const second = await rig.open()
  await second.unlock(UNLOCK)
  second.configuration.setNetwork(NETWORK)
  second.configuration.setLogging(LOGGING)
  second.close()
  const damaged = withDatabase((database) => {
    const damage = database.prepare('UPDATE device SET sealed = zeroblob(80) WHERE slot = ?')
    return slotsIn(database).filter((slot) => !former.has(slot) && damage.run(slot)).length
  })
  assert.equal(damaged, 2)

  const third = await rig.open()
  assert.equal(third.state, 'Locked')
  assert.deepEqual(third.configuration.network, DEFAULT_NETWORK)
  assert.equal(third.configuration.logging.ipAddress, '0.0.0.0')
  for (const name of ['network', 'logging']) {
    assert.ok(
      rig.messages.some((message) => message.includes(`configuration of ${name}: A stored record of device is`)),
    )
  }
  await third.unlock(UNLOCK)
  third.configuration.setNetwork(NETWORK)
  third.close()
  assert.deepEqual((await rig.open()).configuration.network, NETWORK)
})
