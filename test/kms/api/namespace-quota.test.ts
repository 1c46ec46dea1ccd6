/** How many keys and users a namespace may have: by default, and as root sets it. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { QUOTA_DEFAULT, QUOTA_MAX } from '../../../firmware/kms/domain/namespace-quotas.ts'
import { expect } from '../../support/appliance.ts'
import { makeOperationalRig, makeRig, type Rig, UNLOCK } from '../../support/in-process.ts'

let rig: Rig
before(async () => {
  rig = await makeOperationalRig()
})
after(() => rig.close())

async function namespace(name: string): Promise<void> {
  await rig.user(`${name}~chief`, 'Administrator')
  await expect(204, rig.call('PUT', `/namespaces/${name}`, { as: 'admin' }))
}

const quotaOf = async (name: string) =>
  (await expect(200, rig.call('GET', `/namespaces/${name}/quota`, { as: 'admin' }))).json<object>()
const setQuota = (name: string, json: object, as = 'admin') =>
  rig.call('PUT', `/namespaces/${name}/quota`, { as, json })
const key = (id?: string) => ({ ...(id && { id }), type: 'Curve25519', mechanisms: ['EdDSA_Signature'] })
const imported = { ...key(), private: { data: Buffer.alloc(32, 7).toString('base64') } }
const person = { realName: 'x', role: 'Operator', passphrase: 'a passphrase for it' }

test('keys beyond the quota are refused however they come, and one that is deleted leaves its place', async () => {
  await namespace('berlin')
  assert.deepEqual(await quotaOf('berlin'), QUOTA_DEFAULT)
  await expect(204, setQuota('berlin', { keys: 2 }))
  assert.deepEqual(await quotaOf('berlin'), { ...QUOTA_DEFAULT, keys: 2 })
  const chief = 'berlin~chief'
  for (const id of ['one', 'two']) await rig.key(id, {}, chief)
  for (const [method, path, json] of [
    ['POST', '/keys/generate', key()],
    ['POST', '/keys', imported],
    ['PUT', '/keys/three', imported],
  ] as const) {
    const reply = await rig.call(method, path, { as: chief, json })
    assert.equal(reply.status, 507, `${method} ${path}: ${reply.text()}`)
    assert.equal(reply.json<{ message: string }>().message, 'The namespace may have no more than 2 keys')
  }
  await expect(200, rig.call('POST', '/keys/one/move', { as: chief, json: { newId: 'three' } }))
  await rig.key('of-root') // which has no quota
  await expect(204, rig.call('DELETE', '/keys/three', { as: chief }))
  const at = await Promise.all(
    ['a', 'b', 'c'].map((id) => rig.call('POST', '/keys/generate', { as: chief, json: key(id) })),
  )
  assert.deepEqual(at.map(({ status }) => status).sort(), [201, 507, 507], 'also of those that come at once')
})

test('users beyond the quota are refused; what a lower quota leaves beyond it stays', async () => {
  await namespace('paris')
  await expect(204, setQuota('paris', { users: 3 }))
  const add = (id: string) => rig.call('PUT', `/users/paris~${id}`, { as: 'paris~chief', json: person })
  for (const id of ['a', 'b']) await expect(201, add(id))
  assert.match((await expect(507, add('c'))).text(), /no more than 3 users/)
  await expect(507, rig.call('POST', '/users', { as: 'paris~chief', json: person }))
  await expect(409, add('a'))
  await expect(204, setQuota('paris', { users: 0, keys: 0 }))
  const users = await expect(200, rig.call('GET', '/users', { as: 'paris~chief' }))
  assert.equal(users.json<object[]>().length, 3)
  await expect(507, rig.call('POST', '/keys/generate', { as: 'paris~chief', json: key() }))
})

test('root alone sees and sets it, of a namespace that is there, as numbers within bounds', async () => {
  await namespace('rome')
  for (const as of ['rome~chief', 'operator', 'backup']) {
    assert.equal((await setQuota('rome', { keys: 5 }, as)).status, 403, as)
    assert.equal(await rig.status('GET', '/namespaces/rome/quota', { as }), 403, as)
  }
  assert.equal((await setQuota('nowhere', { keys: 5 })).status, 404)
  assert.equal(await rig.status('GET', '/namespaces/nowhere/quota', { as: 'admin' }), 404)
  for (const json of [{}, { keys: -1 }, { keys: 1.5 }, { keys: QUOTA_MAX + 1 }, { keys: '5' }, { keys: 5, more: 1 }])
    assert.equal((await setQuota('rome', json)).status, 400, JSON.stringify(json))
  assert.deepEqual(await quotaOf('rome'), QUOTA_DEFAULT)
  await expect(204, setQuota('rome', { keys: QUOTA_MAX, users: QUOTA_MAX }))
})

test('it outlives a restart, and goes with its namespace', async (t) => {
  await namespace('oslo')
  await expect(204, setQuota('oslo', { keys: 7 }))
  await rig.appliance.close()
  const again = await makeRig(undefined, {}, { dataDirectory: rig.dataDirectory })
  t.after(async () => {
    await again.appliance.close()
    await again.pool.close()
  })
  await expect(204, again.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
  const ask = () => again.call('GET', '/namespaces/oslo/quota', { as: 'admin' })
  assert.deepEqual((await expect(200, ask())).json(), { ...QUOTA_DEFAULT, keys: 7 })
  await expect(204, again.call('DELETE', '/namespaces/oslo', { as: 'admin' }))
  await expect(404, ask())
  await expect(204, again.call('PUT', '/namespaces/oslo', { as: 'admin' }))
  assert.deepEqual((await expect(200, ask())).json(), QUOTA_DEFAULT)
})
