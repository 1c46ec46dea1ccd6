/** `GET /account`: everybody learns the own role, and nothing of anybody else. Contract section 3.3. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { operationalRig } from '../../support/in-process.ts'

test('every role learns who it is, without a line in the audit log', async (t) => {
  const rig = await operationalRig(t)
  const before = (await rig.call('GET', '/audit', { as: 'admin' })).json().head.sequence
  for (const [user, role] of [
    ['admin', 'Administrator'],
    ['metrics', 'Metrics'],
    ['backup', 'Backup'],
  ] as const) {
    const { status, json, headers } = await rig.call('GET', '/account', { as: user })
    assert.equal(status, 200)
    assert.deepEqual(json(), { user, realName: user, role })
    assert.equal(headers['cache-control'], 'no-cache')
  }
  assert.equal((await rig.call('GET', '/audit', { as: 'admin' })).json().head.sequence, before)
})

test('an Operator sees the tags it has now', async (t) => {
  const rig = await operationalRig(t)
  const account = async () => (await rig.call('GET', '/account', { as: 'operator' })).json()
  assert.deepEqual(await account(), { user: 'operator', realName: 'operator', role: 'Operator', tags: [] })
  for (const tag of ['munich', 'berlin']) await rig.call('PUT', `/users/operator/tags/${tag}`, { as: 'admin' })
  assert.deepEqual((await account()).tags, ['berlin', 'munich'])
})

test('users of a namespace see it, once it exists', async (t) => {
  const rig = await operationalRig(t)
  for (const [id, role] of [
    ['backend~chief', 'Administrator'],
    ['backend~service', 'Operator'],
    ['backend~gauge', 'Metrics'],
  ] as const)
    await rig.user(id, role)
  assert.equal(await rig.status('GET', '/account', { as: 'backend~chief' }), 403)
  await rig.call('PUT', '/namespaces/backend', { as: 'admin' })
  const account = async (as: string) => (await rig.call('GET', '/account', { as })).json()
  const common = { namespace: 'backend' }
  assert.deepEqual(await account('backend~chief'), {
    user: 'backend~chief',
    realName: 'backend~chief',
    role: 'Administrator',
    ...common,
  })
  assert.deepEqual((await account('backend~service')).tags, [])
  assert.equal((await account('backend~gauge')).role, 'Metrics')
})

test('nobody learns anything without credentials, or while it is Locked', async (t) => {
  const rig = await operationalRig(t)
  assert.equal(await rig.status('GET', '/account'), 401)
  await rig.call('POST', '/lock', { as: 'admin' })
  assert.equal(await rig.status('GET', '/account', { as: 'admin' }), 412)
})
