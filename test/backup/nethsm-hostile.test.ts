/** Backups in the form of a NetHSM whose records would cost the appliance too much. Contract section 8.2. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { openRig, type Rig } from '../support/in-process.ts'
import { ADMINISTRATOR, forge } from './forge.ts'
import { BACKUP, OTHER_DEVICE, restore, unlock } from './rig.ts'

const utf8 = (text: string) => new TextEncoder().encode(text)

const restored = async (t: test.TestContext, domain: Record<string, Uint8Array>): Promise<Rig> => {
  const rig = await openRig(t, OTHER_DEVICE)
  const { status } = await restore(rig, { backupPassphrase: BACKUP }, forge([], domain), { as: undefined })
  assert.equal(status, 204)
  await unlock(rig)
  return rig
}

test('records with a member name of any length do not keep the appliance locked', async (t) => {
  const long = 'n'.repeat(130_000)
  const rig = await restored(t, {
    '/authentication/admin': ADMINISTRATOR,
    '/authentication/other': utf8(`{"${long}":1}`),
    '/key/some': utf8(`{"${long}":1}`),
    '/namespace/team': utf8(`"team"`),
  })
  assert.equal(rig.appliance.state, 'Operational')
  assert.deepEqual(rig.appliance.open().users.list(''), ['admin'])
})

const userWith = (cost: string) =>
  utf8(
    `{"name":"x","salt":"coffer scrypt ${cost} 0123456789abcdef","digest":"0123456789abcdef0123456789abcdef","role":"Operator","tags":[]}`,
  )

test('a digest that names a higher cost than ours is left out', async (t) => {
  const dear = ['131072 8 1', '65536 8 1', '32768 8 2', '1024 8 64', '32767 8 1', '0 8 1', '32768 0 1']
  const rig = await restored(t, {
    '/authentication/admin': ADMINISTRATOR,
    '/authentication/same': userWith('32768 8 1'),
    '/authentication/cheap': userWith('16 1 1'),
    ...Object.fromEntries(dear.map((cost, n) => [`/authentication/dear-${n}`, userWith(cost)])),
  })
  assert.deepEqual(rig.appliance.open().users.list(''), ['admin', 'cheap', 'same'])
})
