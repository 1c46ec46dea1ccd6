/** An appliance whose cluster has no room: what its users are told, and that it changes things again by itself. */

import assert from 'node:assert/strict'
import test from 'node:test'
import * as z from 'zod'
import { connectToEtcd } from '../../../firmware/cluster/etcd/etcd.ts'
import { createGateway } from '../../../firmware/cluster/etcd/gateway.ts'
import { createClusterCa } from '../../support/cluster-ca.ts'
import { fileNeeds } from '../../support/tools.ts'
import { expect, openNode, register, until } from './rig.ts'

await fileNeeds('etcd', 'openssl')

test('while etcd has no room changes are busy, which diagnosis and metrics tell; an alarm of its own the node takes back', async (t) => {
  const ca = createClusterCa(t)
  const a = await openNode(t, ca)
  const b = await openNode(t, ca)
  await a.rig.user('metrics', 'Metrics')
  const { members } = await register(a, b)
  const etcd = connectToEtcd(a.etcd.service.socket)
  const gateway = createGateway(a.etcd.service.socket)
  t.after(() => {
    etcd.close()
    gateway.close()
  })
  const { memberId } = await etcd.status()
  const other = members.find(({ learner }) => learner)!.id
  for (const id of [memberId, other]) {
    const memberID = BigInt(`0x${id}`).toString()
    await gateway.call('maintenance/alarm', { action: 'ACTIVATE', memberID, alarm: 'NOSPACE' }, z.unknown(), 10_000)
  }

  const change = () =>
    a.rig.call('PUT', '/users/one', {
      as: 'admin',
      json: { realName: 'One', role: 'Operator', passphrase: 'passphrase of one' },
    })
  const refused = await expect(503, change())
  assert.match(refused.text(), /database of the cluster is full/)
  assert.notEqual(refused.headers['retry-after'], undefined)
  const metrics = async () =>
    (await a.rig.call('GET', '/metrics', { as: 'metrics', headers: { accept: 'text/plain' } })).text()
  const diagnosis = async () => JSON.stringify((await a.rig.call('GET', '/health/diagnose', { as: 'admin' })).json())
  await until('it is noticed', async () => /^coffer_cluster_full 1$/m.test(await metrics()))
  assert.match(await diagnosis(), /Nothing can be changed: the database of etcd is full/)

  await until('it takes its own back', async () => !(await etcd.status()).spaceAlarms.includes(memberId))
  assert.deepEqual((await etcd.status()).spaceAlarms, [other], 'that of another member is not its own')
  await expect(503, change())
  await etcd.disarmSpace(other)
  await expect(201, change())
  await until('that is noticed', async () => /^coffer_cluster_full 0$/m.test(await metrics()))
  assert.doesNotMatch(await diagnosis(), /etcd is full/)
})
