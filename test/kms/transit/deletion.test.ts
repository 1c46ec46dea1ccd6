/** Deletion of keys on the wire, which their configuration allows. firmware/kms/transit/CONTRACT.md, "Keys". */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expect } from '../../support/appliance.ts'
import { UNLOCK } from '../../support/in-process.ts'
import { openTransit, say } from './rig.ts'

const as = { as: 'admin' }

test('a key is deleted on the wire only while its configuration allows it', async (t) => {
  const { rig, admin: token, web } = await openTransit()
  t.after(() => rig.close())
  const configure = (name: string, body: object) => say(rig, 'POST', `transit/keys/${name}/config`, { token, body })
  const remove = (name: string) => say(rig, 'DELETE', `transit/keys/${name}`, { token })
  const isAllowed = async (name: string) =>
    (await say(rig, 'GET', `transit/keys/${name}`, { token })).body.data.deletion_allowed
  assert.equal((await say(rig, 'POST', 'transit/keys/app', { token })).status, 200)
  assert.equal((await remove('app')).status, 400)

  const { status, body } = await configure('app', { deletion_allowed: 'true' })
  assert.deepEqual([status, body.data.deletion_allowed], [200, true])
  assert.deepEqual([(await configure('app', {})).body.data.deletion_allowed, await isAllowed('app')], [true, true])

  // Other changes of the record keep it.
  await expect(204, rig.call('PUT', '/keys/app/restrictions/tags/berlin', as))
  await expect(204, rig.call('DELETE', '/keys/app/restrictions/tags/berlin', as))
  assert.equal(await isAllowed('app'), true)
  await expect(200, rig.call('POST', '/keys/app/move', { ...as, json: { newId: 'moved' } }))
  assert.equal(await isAllowed('moved'), true)
  await expect(204, rig.call('POST', '/lock', as))
  await expect(204, rig.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
  assert.equal(await isAllowed('moved'), true)

  assert.equal((await configure('moved', { deletion_allowed: false })).body.data.deletion_allowed, false)
  assert.equal((await remove('moved')).status, 400)
  await configure('moved', { deletion_allowed: true })
  assert.equal((await say(rig, 'DELETE', 'transit/keys/moved', { token: web })).status, 403)
  assert.deepEqual(await remove('moved'), { status: 204, body: null })
  await expect(404, rig.call('GET', '/keys/moved', as))

  // A new key of the same name does not inherit it.
  assert.equal((await say(rig, 'POST', 'transit/keys/moved', { token })).body.data.deletion_allowed, false)
  assert.equal((await remove('moved')).status, 400)
  await expect(204, rig.call('DELETE', '/keys/moved', as))
})

test('a configuration that is forbidden before the deletion acts keeps the key', async (t) => {
  const { rig, admin: token } = await openTransit()
  t.after(() => rig.close())
  await say(rig, 'POST', 'transit/keys/app', { token })
  await say(rig, 'POST', 'transit/keys/app/config', { token, body: { deletion_allowed: true } })
  const [forbidden, removed] = await Promise.all([
    say(rig, 'POST', 'transit/keys/app/config', { token, body: { deletion_allowed: false } }),
    say(rig, 'DELETE', 'transit/keys/app', { token }),
  ])
  const isThere = (await rig.call('GET', '/keys/app', as)).status === 200
  if (forbidden.status === 200 && isThere) assert.equal(removed.status, 400)
  else assert.equal(removed.status, 204)
})

test('the minimums of a key with one version have one value, and wrong values change nothing', async (t) => {
  const { rig, admin: token } = await openTransit()
  t.after(() => rig.close())
  await say(rig, 'POST', 'transit/keys/app', { token })
  for (const use of ['decryption', 'encryption'])
    for (const [value, error] of [
      [0, null],
      ['1', null],
      [2, `cannot set min ${use} version of 2, latest key version is 1`],
      [-1, `min ${use} version cannot be negative`],
      ['x', `error converting input for field "min_${use}_version": expected type 'int'`],
    ] as const) {
      const body = { [`min_${use}_version`]: value, deletion_allowed: error !== null }
      const answer = await say(rig, 'POST', 'transit/keys/app/config', { token, body })
      assert.deepEqual([answer.status, answer.body.errors?.[0] ?? null], [error === null ? 200 : 400, error])
      const { data } = (await say(rig, 'GET', 'transit/keys/app', { token })).body
      assert.equal(data.deletion_allowed, false)
    }
})
