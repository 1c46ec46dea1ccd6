/** Metrics of the transit API: requests by API, and access keys. Contract section 4.8. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expect } from '../../support/appliance.ts'
import { UNLOCK } from '../../support/in-process.ts'
import { logIn, say, switchWire, wiredRig } from './rig.ts'

async function openRig() {
  const rig = await wiredRig()
  const samples = async (as = 'metrics') => {
    const { text } = await expect(200, rig.call('GET', '/metrics', { as, headers: { accept: 'text/plain' } }))
    const value = (name: string) => {
      const line = text()
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
      return line === undefined ? null : Number(line.slice(name.length))
    }
    return {
      nethsm: value('coffer_wire_requests_total{wire="nethsm"}')!,
      transit: value('coffer_wire_requests_total{wire="transit"}')!,
      accessKeys: value('coffer_access_keys'),
    }
  }
  return { rig, samples }
}

test('requests are counted for the API whose path they name, whatever the answer', async (t) => {
  const { rig, samples } = await openRig()
  t.after(() => rig.close())
  const begin = await samples()
  assert.equal(begin.transit, 0)
  assert.equal((await say(rig, 'GET', 'sys/health')).status, 404)
  assert.equal((await samples()).transit, 0, 'it is off')
  await switchWire(rig, 'on')
  const token = await logIn(rig, 'web')
  const batch_input = [{ plaintext: 'YQ==' }, { plaintext: 'YQ==' }]
  for (const [method, path, status] of [
    ['GET', 'sys/health', 200],
    ['LIST', 'transit/keys', 404],
    ['POST', 'transit/encrypt/none', 400],
    ['GET', 'nowhere', 404],
  ] as const) {
    const asked = { token, ...(method === 'POST' && { body: { batch_input } }) }
    assert.equal((await say(rig, method, path, asked)).status, status, path)
  }
  for (const path of ['//docs', '//nowhere']) await rig.call('GET', path)
  const end = await samples()
  assert.deepEqual([end.transit, end.nethsm], [5, begin.nethsm + 3], 'two of metrics and one of the settings')
})

test('access keys are counted, for users of a namespace those of its users, after an unlock, too', async (t) => {
  const { rig, samples } = await openRig()
  t.after(() => rig.close())
  for (const [id, role] of [
    ['team1~chief', 'Administrator'],
    ['team1~gauge', 'Metrics'],
  ] as const)
    await rig.user(id, role)
  await expect(204, rig.call('PUT', '/namespaces/team1', { as: 'admin' }))
  const make = async (user: string): Promise<string> => {
    const asked = { as: user, json: { name: 'ci' } }
    return (await expect(201, rig.call('POST', `/users/${user}/access-keys`, asked))).json().id
  }
  const [first] = [await make('web'), await make('web'), await make('team1~chief')]
  const counts = async () => [(await samples()).accessKeys, (await samples('team1~gauge')).accessKeys]
  assert.deepEqual(await counts(), [3, 1])
  await expect(204, rig.call('DELETE', `/users/web/access-keys/${first}`, { as: 'admin' }))
  assert.deepEqual(await counts(), [2, 1])
  await expect(204, rig.call('POST', '/lock', { as: 'admin' }))
  await expect(204, rig.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
  assert.deepEqual(await counts(), [2, 1])
  await expect(204, rig.call('DELETE', '/users/web', { as: 'admin' }))
  assert.deepEqual(await counts(), [1, 1])
})
