/** A node that is alone becomes the first member of a cluster, whatever comes between: it is alone as before, or has become it. */

import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join as pathOf } from 'node:path'
import test from 'node:test'
import { CofferError } from '../../../firmware/base/error.ts'
import { createClusterCa } from '../../support/cluster-ca.ts'
import { UNLOCK } from '../../support/in-process.ts'
import { fileNeeds } from '../../support/tools.ts'
import {
  certify,
  expect,
  keysAt,
  membersAt,
  NO_ETCD,
  networkOf,
  openNode,
  putCertificate,
  type TestNode,
  unlock,
  until,
} from './rig.ts'

await fileNeeds('etcd', 'openssl')

const URLS = { urls: ['https://127.0.0.9:2380'] }

test('cut at any moment it is alone with all it has, or a member with the same', async (t) => {
  const cuts: string[] = []
  const cut = (): void => {
    const copy = mkdtempSync(pathOf(tmpdir(), 'coffer-cut-'))
    t.after(() => rmSync(copy, { recursive: true, force: true }))
    cpSync(node.rig.dataDirectory, copy, { recursive: true })
    cuts.push(copy)
  }
  const node: TestNode = await openNode(t, createClusterCa(t), {
    service: (service) => ({
      ...service,
      async run(start) {
        if (start.how === 'run') return service.run(start)
        cut()
        await service.run(start)
        cut()
      },
      async erase() {
        cut()
        await service.erase()
        cut()
      },
    }),
  })
  await node.rig.key('k')
  await expect(201, node.rig.call('POST', '/cluster/members', { as: 'admin', json: URLS }))
  cut()
  const found: boolean[] = []
  for (const dataDirectory of cuts) {
    const rig = await node.openRig(dataDirectory, NO_ETCD)
    assert.equal(rig.appliance.state, 'Locked')
    const isMember = rig.appliance.cluster.node.membership !== null
    found.push(isMember)
    if (!isMember) {
      await unlock({ rig }, UNLOCK)
      assert.deepEqual(await keysAt({ rig }), ['k'])
      await rig.key('another')
    }
    await rig.pool.close()
    await rig.appliance.close()
  }
  assert.deepEqual(found, [false, false, false, false, true])
})

test('without an etcd that answers it stays alone, goes on, and begins anew', async (t) => {
  let fails = true
  const node = await openNode(t, createClusterCa(t), {
    service: (service) => ({
      ...service,
      async run(start) {
        await service.run(start)
        if (fails) {
          await service.stop()
          throw new CofferError('busy', 'The etcd of this node was stopped again')
        }
      },
    }),
  })
  await node.rig.key('k')
  await expect(503, node.rig.call('POST', '/cluster/members', { as: 'admin', json: URLS }))
  assert.equal(node.rig.appliance.cluster.node.membership, null)
  assert.equal(node.etcd.pid, null)
  await node.rig.key('made-since')
  await node.rig.call('DELETE', '/keys/k', { as: 'admin' })
  fails = false
  await expect(201, node.rig.call('POST', '/cluster/members', { as: 'admin', json: URLS }))
  assert.deepEqual(await keysAt(node), ['made-since'])
  assert.equal((await membersAt(node)).length, 2)
})

test('two who ask at once: one cluster', async (t) => {
  const ca = createClusterCa(t)
  const node = await openNode(t, ca)
  const other = await openNode(t, ca)
  const add = (address: string) =>
    node.rig.status('POST', '/cluster/members', { as: 'admin', json: { urls: [`https://${address}:2380`] } })
  const answers = await Promise.all([add('127.0.0.8'), add('127.0.0.9')])
  assert.deepEqual(answers.sort(), [201, 503])
  assert.equal((await membersAt(node)).length, 2)
  assert.equal(node.etcd.starts, 1)
  assert.equal(
    (await node.rig.call('POST', '/cluster/members', { as: 'admin', json: { urls: [other.url] } })).status,
    409,
  )
})

test('a lock while it begins leaves it alone, or Locked and a member', async (t) => {
  const ca = createClusterCa(t)
  const node: TestNode = await openNode(t, ca, {
    service: (service) => ({
      ...service,
      async run(start) {
        await service.run(start)
        await node.rig.call('POST', '/lock', { as: 'admin' })
      },
    }),
  })
  await node.rig.key('k')
  await expect(412, node.rig.call('POST', '/cluster/members', { as: 'admin', json: URLS }))
  assert.equal(node.rig.appliance.state, 'Locked')
  assert.equal(node.rig.appliance.cluster.node.membership, null)
  assert.equal(node.etcd.pid, null)
  await unlock(node, UNLOCK)
  assert.deepEqual(await keysAt(node), ['k'])
})

test('what it is given while its etcd starts is what it becomes a member with, or it does not', async (t) => {
  const ca = createClusterCa(t)
  let meanwhile = async (): Promise<void> => {}
  const node: TestNode = await openNode(t, ca, {
    service: (service) => ({
      ...service,
      async run(start) {
        await service.run(start)
        if (start.how === 'create') await meanwhile()
      },
    }),
  })
  const { configuration, cluster } = node.rig.appliance
  const add = () => node.rig.call('POST', '/cluster/members', { as: 'admin', json: URLS })

  meanwhile = () => putCertificate(node, ca, '127.0.0.1')
  assert.match((await expect(412, add())).json().message, /no subject alternative name/)
  assert.equal(cluster.node.membership, null)
  assert.equal(node.etcd.pid, null)

  await certify(node, ca, '127.0.0.8')
  meanwhile = async () => configuration.setNetwork(networkOf('127.0.0.8'))
  assert.match((await expect(503, add())).json().message, /another address/)
  assert.equal(cluster.node.membership, null)

  configuration.setNetwork(networkOf(node.address))
  const { starts } = node.etcd
  meanwhile = () => certify(node, ca)
  const { status } = await add()
  assert.ok(status === 201 || status === 503) // its etcd may be on its way
  assert.notEqual(cluster.node.membership, null)
  await until('its etcd shows the new one', () => node.etcd.starts === starts + 2 && node.etcd.pid !== null)
})
