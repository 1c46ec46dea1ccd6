/** The etag of `GET /users` is that of what the caller sees: users of other namespaces show in nothing. Contract 1.4, 7.3. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { operationalRig, type Rig } from '../../support/in-process.ts'

const etagOf = async (rig: Rig, as: string): Promise<string> => {
  const { headers, status } = await rig.call('GET', '/users', { as })
  assert.equal(status, 200)
  return headers.etag!
}

test('the list of a namespace keeps its etag when users elsewhere change', async (t) => {
  const rig = await operationalRig(t)
  for (const namespace of ['red', 'blue']) {
    await rig.user(`${namespace}~chief`, 'Administrator')
    await rig.call('PUT', `/namespaces/${namespace}`, { as: 'admin' })
  }
  const before = await etagOf(rig, 'red~chief')
  const root = await etagOf(rig, 'admin')
  await rig.user('elsewhere', 'Operator')
  await rig.user('blue~worker', 'Operator', 'blue~chief')
  await rig.call('PUT', '/users/blue~worker/tags/berlin', { as: 'blue~chief' })
  assert.equal(await etagOf(rig, 'red~chief'), before)
  assert.notEqual(await etagOf(rig, 'admin'), root)
  const blue = await etagOf(rig, 'blue~chief')
  await rig.call('DELETE', '/users/blue~worker', { as: 'blue~chief' })
  assert.notEqual(await etagOf(rig, 'blue~chief'), blue)
  assert.equal(await etagOf(rig, 'red~chief'), before)

  await rig.user('red~worker', 'Operator', 'red~chief')
  const changed = await etagOf(rig, 'red~chief')
  assert.notEqual(changed, before)
  await rig.call('PUT', '/users/red~worker/tags/berlin', { as: 'red~chief' })
  assert.notEqual(await etagOf(rig, 'red~chief'), changed)
  await rig.call('DELETE', '/users/red~worker', { as: 'red~chief' })
  assert.equal(await etagOf(rig, 'red~chief'), before)
  const matched = await rig.status('GET', '/users', { as: 'red~chief', headers: { 'if-none-match': before } })
  assert.equal(matched, 304)
})
