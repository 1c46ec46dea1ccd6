/** Deleting a namespace of many keys, and etags, through locks. Contract sections 1.4 and 7.3. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { operationalRig, UNLOCK } from '../../support/in-process.ts'

test('a namespace whose deletion a lock interrupts is deleted after the unlock, and its name then free', async (t) => {
  const rig = await operationalRig(t)
  await rig.user('team~chief', 'Administrator')
  await rig.call('PUT', '/namespaces/team', { as: 'admin' })
  await Promise.all(Array.from({ length: 250 }, (_, n) => rig.key(`key-${n}`, {}, 'team~chief')))
  assert.equal(await rig.status('DELETE', '/namespaces/team', { as: 'admin' }), 204)
  assert.equal(await rig.status('GET', '/keys', { as: 'team~chief' }), 403)
  assert.equal(await rig.status('POST', '/lock', { as: 'admin' }), 204)
  assert.equal(await rig.status('POST', '/unlock', { json: { passphrase: UNLOCK } }), 204)
  assert.deepEqual((await rig.call('GET', '/namespaces', { as: 'admin' })).json(), [])
  let refused = 0
  for (;;) {
    const { status, headers } = await rig.call('PUT', '/namespaces/team', { as: 'admin' })
    if (status === 204) break
    assert.equal(status, 503)
    assert.equal(headers['retry-after'], '1')
    refused++
    await wait(5)
  }
  assert.ok(refused > 0)
  assert.deepEqual((await rig.call('GET', '/keys', { as: 'team~chief' })).json(), [])
})

test('etags of users, keys and lists are the same after a lock, and conditions hold across it', async (t) => {
  const rig = await operationalRig(t)
  await rig.key('one')
  const paths = ['/users', '/users/operator', '/keys', '/keys/one', '/keys/one/public.pem']
  const etags = () =>
    Promise.all(paths.map(async (path) => (await rig.call('GET', `${path}`, { as: 'admin' })).headers.etag))
  const before = await etags()
  assert.equal(new Set(before).size, paths.length)
  await rig.call('POST', '/lock', { as: 'admin' })
  assert.equal(await rig.status('POST', '/unlock', { json: { passphrase: UNLOCK } }), 204)
  assert.deepEqual(await etags(), before)
  const headers = { 'if-match': before[3]! }
  assert.equal(await rig.status('DELETE', '/keys/one', { as: 'admin', headers: { 'if-match': before[2]! } }), 412)
  assert.equal(await rig.status('DELETE', '/keys/one', { as: 'admin', headers }), 204)
})
