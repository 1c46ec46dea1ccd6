// @test long 30
/** A damaged store or device key seen from outside: a state, a reason, and never a crash loop. */

import assert from 'node:assert/strict'
import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { ADMIN, expect, provision, stateOf, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../support/process.ts'

const KEYS = ['first', 'second', 'third']
/** Beginning of Ed25519's known answer in the program of the workers. */
const KNOWN = 'd9a913bf1632c8c001705e3f13a0f695e8c9f44a00e3a8685ea56a812e35979f'
const EDITS = 12 // a sample; the store's own tests edit every byte

let program: string
/** A provisioned store with three keys, in use by nobody. */
let template: string
before(async (t) => {
  program = await buildForTests()
  const context = t as TestContext
  template = makeDataDirectory(context)
  const coffer = startCoffer(context, { program, data: template })
  await provision(coffer)
  for (const id of KEYS) {
    const json = { id, type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
    await expect(201, coffer.call('POST', '/keys/generate', { as: ADMIN, json }))
  }
  assert.equal(await coffer.stop(), 0)
})

function makeStore(t: TestContext): { data: string; database: string; deviceKey: string } {
  const data = makeDataDirectory(t)
  cpSync(template, data, { recursive: true })
  return { data, database: join(data, 'store', 'store.db'), deviceKey: join(data, 'device.key') }
}

/** Starts, gives the state, and stops; the boot manager must have needed one firmware only. */
async function visit(t: TestContext, data: string, action?: (coffer: Coffer, state: string) => Promise<void>) {
  const coffer = startCoffer(t, { program, data })
  const state = await stateOf(coffer)
  await action?.(coffer, state)
  assert.equal(await coffer.stop(), 0)
  assert.doesNotMatch(coffer.output(), /started again/)
  return { state, output: coffer.output() }
}

async function assertUnharmed(t: TestContext, data: string): Promise<void> {
  await visit(t, data, async (coffer, state) => {
    assert.equal(state, 'Locked')
    await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
    const list = await expect(200, coffer.call('GET', '/keys', { as: ADMIN }))
    assert.deepEqual(
      list.json<{ id: string }[]>().map(({ id }) => id),
      KEYS,
    )
  })
}

interface Damage {
  what: string
  do: (files: { database: string; deviceKey: string }) => void
  reason: RegExp
}

const DAMAGES: Damage[] = [
  {
    what: 'a missing device key',
    do: ({ deviceKey }) => rmSync(deviceKey),
    reason:
      /device\.key is missing; a new device key could not open the store[\s\S]*: Failed: The device key is missing/,
  },
  {
    what: 'a device key cut short',
    do: ({ deviceKey }) => truncateSync(deviceKey, 31),
    reason: /device\.key has 31 bytes, a device key has 32[\s\S]*: Failed: /,
  },
  {
    what: "another device's key",
    do: ({ deviceKey }) => writeFileSync(deviceKey, Buffer.alloc(32, 7)),
    reason: /: Failed: .*device key/i,
  },
  {
    what: 'a database cut in half',
    do: ({ database }) => truncateSync(database, Math.floor(readFileSync(database).length / 2)),
    reason: /: Failed: The store is truncated: its end is missing/,
  },
  {
    what: 'something else in place of the database',
    do: ({ database }) => writeFileSync(database, 'no database at all\n'.repeat(1000)),
    reason: /: Failed: store\.db is not a store of Coffer/,
  },
]

for (const { what, do: damage, reason } of DAMAGES) {
  test(`${what} leads to Failed with its reason, and to nothing worse`, async (t) => {
    const files = makeStore(t)
    damage(files)
    const { state, output } = await visit(t, files.data, async (coffer) => {
      await expect(412, coffer.call('GET', '/keys', { as: ADMIN }))
    })
    assert.equal(state, 'Failed')
    assert.match(output, reason)
    cpSync(template, files.data, { recursive: true })
    await assertUnharmed(t, files.data)
  })
}

test('a signature that is not the known one leads to Failed, from which the same program does not come back', async (t) => {
  const { data } = makeStore(t)
  const broken = makeDataDirectory(t)
  chmodSync(broken, 0o755)
  cpSync(dirname(program), broken, { recursive: true })
  const worker = join(broken, 'worker.js')
  const source = readFileSync(worker, 'utf8')
  const edited = source.replace(KNOWN, KNOWN.replace('d9', 'd8'))
  assert.notEqual(edited, source)
  writeFileSync(worker, edited)
  const coffer = startCoffer(t, { program: join(broken, 'boot.js'), data })
  await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  await coffer.see(/: Failed: Signatures come out wrong \(EdDSA with Curve25519\)/)
  assert.equal(await stateOf(coffer), 'Failed')
  await expect(412, coffer.call('GET', '/keys', { as: ADMIN }))
  await expect(412, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  assert.match((await expect(200, coffer.call('GET', '/health/diagnose'))).text(), /EdDSA with Curve25519/)
  assert.equal(await coffer.stop(), 0)
  assert.doesNotMatch(coffer.output(), /started again/)
  await assertUnharmed(t, data)
})

test('an edited byte anywhere is survived, and what it does not hit is still there', async (t) => {
  const { data, database } = makeStore(t)
  const original = readFileSync(database)
  const offsets = Array.from({ length: EDITS }, (_, i) => Math.floor((i * original.length) / EDITS) + 37 * i)
  const states = new Set<string>()
  for (const offset of offsets.filter((offset) => offset < original.length)) {
    const edited = Buffer.from(original)
    edited[offset]! ^= 0x55
    writeFileSync(database, edited)
    const { state } = await visit(t, data, async (coffer, state) => {
      if (state !== 'Locked') return
      const unlocked = await coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } })
      assert.ok([204, 500].includes(unlocked.status), `byte ${offset}: ${unlocked.text()}`)
      if (unlocked.status !== 204) return
      for (const id of KEYS) {
        const { status } = await coffer.call('GET', `/keys/${id}`, { as: ADMIN })
        assert.ok([200, 500].includes(status), `byte ${offset}, key ${id}: ${status}`)
      }
    })
    states.add(state)
    for (const file of readdirSync(join(data, 'store'))) {
      if (/-(wal|shm)$/.test(file)) rmSync(join(data, 'store', file))
    }
    writeFileSync(database, original)
  }
  assert.ok(!states.has('Unprovisioned') && !states.has('Operational'), [...states].join())
  await assertUnharmed(t, data)
})
