// @test slow
/**
 * Three devices on a network of their own become one cluster. One loses its power while keys are being made, and comes back with what
 * the others have; one is updated while the others serve; one is removed, and one is reset, and both join again. Three emulated machines
 * want two cores for minutes: `npm test -- --slow` runs it, nothing beside it.
 */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { API_PORT } from '../../tools/qemu/machine.ts'
import { ADMIN, expect, provision, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import type { Reply } from '../support/client.ts'
import { bringIn, equip, type Peer, until } from '../support/cluster.ts'
import { type ClusterCa, createClusterCa } from '../support/cluster-ca.ts'
import { createEthernet, type Ethernet } from '../support/ethernet.ts'
import { type Appliance, boot, clientAt } from '../support/machine.ts'
import { type Image, makeDirectory, needsGo } from './images.ts'
import { makeProvisionedDisk } from './provisioned.ts'
import { bootOptions, commitOffline, firstImage, SECOND, secondImage, versionOf } from './versions.ts'

const KEYS_BEFORE_CUT = 3
const KEYS_AFTER_CUT = 3
const SERVING_PAUSE_MS = 500
const FACTORY_ADDRESS = '192.168.1.1' // of a device that was reset
const ADDRESSES = ['192.168.1.2', '192.168.1.3', '192.168.1.4']
const WATCHER = 'watcher:words of a watcher'

interface Node extends Place {
  peerUrl: string
  device: Appliance
}

interface Member {
  id: string
  name: string
  urls: string[]
  learner: boolean
}

interface Place {
  address: string
  disk: string
  /** It starts by its own boot loader, which tries versions. */
  isUpdated: boolean
}

test('three devices are one cluster', needsGo(), async (t) => {
  const image = await firstImage()
  const ca = createClusterCa(t)
  const ethernet = await createEthernet(t, makeDirectory(t), [FACTORY_ADDRESS, ...ADDRESSES], API_PORT)
  const nodes: Node[] = []
  for (const address of ADDRESSES) {
    const peerUrl = `https://${address}:2380`
    const disk = await makeProvisionedDisk(t, image, ({ call }) => equip({ call, peerUrl }, ca))
    const place = { address, disk, isUpdated: address === ADDRESSES[1] }
    nodes.push({ ...place, peerUrl, device: await switchOn(t, image, ethernet, place) })
  }
  const [first, second, third] = nodes as [Node, Node, Node]
  await Promise.all(nodes.map(({ device }) => device.answers()))

  const watcher = { realName: 'Watcher', role: 'Metrics', passphrase: WATCHER.slice(WATCHER.indexOf(':') + 1) }
  await expect(201, first.device.call('PUT', '/users/watcher', { as: ADMIN, json: watcher }))
  for (const node of [second, third]) await bringIn(peerOf(first), peerOf(node))
  assert.equal((await votersOf(first)).length, 3)

  const made: string[] = []
  /** Asked for again where an election came between. */
  const make = async (): Promise<void> => {
    const id = `key-${made.length}`
    await until(id, async () => {
      const json = { id, type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
      const reply = await first.device.call('POST', '/keys/generate', { as: ADMIN, json }).catch(() => null)
      return reply?.status === 201 || reply?.status === 409
    })
    made.push(id)
  }
  /** All have the keys that were made, and all are at the same change, whose head says what every record is. */
  const expectSame = async (): Promise<void> => {
    for (const { device } of nodes) {
      await until('open device', async () => (await device.state()) === 'Operational')
      await until('list of all keys', async () => (await keysOf(device)).length === made.length)
      assert.deepEqual((await keysOf(device)).sort(), made.toSorted())
    }
    await until('the same change', async () => {
      const [applied, ...others] = await Promise.all(nodes.map(appliedBy))
      return applied !== null && others.every((other) => other === applied)
    })
  }

  await t.test('one that loses its power comes back with what the others have', async () => {
    while (made.length < KEYS_BEFORE_CUT) await make()
    const writing = make()
    await third.device.kill()
    await writing
    while (made.length < KEYS_BEFORE_CUT + KEYS_AFTER_CUT) await make()
    third.device = await switchOn(t, image, ethernet, third)
    await third.device.answers()
    await expectSame()
    for (const id of made) await expect(200, third.device.call('GET', `/keys/${id}/public.pem`, { as: ADMIN }))
  })

  /** Until `work` is done: reads are answered, and keys are made, also while the other device is on its way. */
  const servingDuring = async (work: () => Promise<void>): Promise<void> => {
    let isOver = false
    const serve = async (): Promise<void> => {
      while (!isOver) {
        await make()
        for (const node of [first, third]) await read(node, `/keys/${made[0]}/public.pem`)
        await wait(SERVING_PAUSE_MS)
      }
    }
    const end = (): void => {
      isOver = true
    }
    await Promise.all([serve(), work().finally(end)])
  }

  await t.test('one is updated while the others serve; old and new then serve side by side', async () => {
    const good = await secondImage()
    await servingDuring(async () => {
      await expect(204, second.device.call('POST', '/system/shutdown', { as: ADMIN }))
      await second.device.ended
      commitOffline(second.disk, good) // an emulated machine takes minutes to be sent it, which update.test.ts has for itself
      const before = made.length
      second.device = await switchOn(t, image, ethernet, second)
      await second.device.see(/Version 1\.2\.0 is on trial\./)
      assert.ok(made.length > before, 'keys were made while it was away')
      await second.device.see(/Version 1\.2\.0 is good\./)
    })
    assert.equal(await versionOf(second.device), SECOND)
    await expectSame()
    await until('change', async () => {
      const json = { realName: 'Olivia', role: 'Operator', passphrase: 'words of an operator' }
      return (await second.device.call('PUT', '/users/olivia', { as: ADMIN, json })).status === 201
    })
    await expect(200, first.device.call('GET', '/users/olivia', { as: ADMIN }))
    await expectSame()
  })

  await t.test('one that is removed is Failed, goes on alone, and joins again; the others go on', async () => {
    await remove(first, second.peerUrl)
    await until('failure', async () => (await second.device.state()) === 'Failed')
    await make()
    await expect(200, third.device.call('GET', `/keys/${made.at(-1)}`, { as: ADMIN }))
    await expect(204, second.device.call('POST', '/cluster/force-new', { as: `unlock:${UNLOCK_PASSPHRASE}` }))
    await until('open device', async () => (await second.device.state()) === 'Operational')
    assert.ok(!(await keysOf(second.device)).includes(made.at(-1)!))
    assert.equal((await votersOf(second)).length, 1)
    await bringIn(peerOf(first), peerOf(second))
    assert.equal((await votersOf(first)).length, 3)
    await expectSame()
  })

  await t.test('one that is reset leaves the others, and joins again as another', async () => {
    const memberOf = async (node: Node) => (await votersOf(first)).find(({ urls }) => urls.includes(node.peerUrl))
    const former = (await memberOf(third))!
    await expect(204, third.device.call('POST', '/system/factory-reset', { as: ADMIN }))
    await third.device.see(/Factory reset: done\./)
    await third.device.ended
    // It tries for five seconds, which a slow machine may not be enough for.
    if (/cannot tell the other members that this node leaves/.test(third.device.output()))
      await remove(first, third.peerUrl)
    assert.deepEqual((await votersOf(first)).map(({ urls }) => urls[0]).sort(), [first.peerUrl, second.peerUrl].sort())
    await make()

    third.device = await resetDevice(t, image, ethernet, third, ca)
    const [alone, ...others] = await votersOf(third)
    assert.deepEqual(others, [])
    assert.notEqual(alone!.name, former.name)
    await bringIn(peerOf(first), peerOf(third))
    const present = (await memberOf(third))!
    assert.deepEqual([present.name === alone!.name, present.id === former.id], [true, false])
    await expectSame()
    await make()
    await expectSame()
  })
})

/** Each has a MAC address that ends like its own. */
function switchOn(
  t: TestContext,
  image: Image,
  { socket, portTo }: Ethernet,
  { address, disk, isUpdated }: Place,
  found = address,
): Promise<Appliance> {
  const macAddress = `52:54:00:12:34:0${address.at(-1)}`
  const way = { cable: { socket, macAddress }, apiPort: portTo(found) }
  return boot(t, image, isUpdated ? { ...bootOptions(disk), ...way } : { disk, ...way })
}

/** Switched on again with all that it needs before it joins, at the address that it had. */
async function resetDevice(
  t: TestContext,
  image: Image,
  ethernet: Ethernet,
  node: Node,
  ca: ClusterCa,
): Promise<Appliance> {
  const fresh = await switchOn(t, image, ethernet, node, FACTORY_ADDRESS)
  await fresh.answers()
  assert.equal(await fresh.state(), 'Unprovisioned')
  await provision(fresh)
  const json = { ipAddress: node.address, netmask: '255.255.255.0', gateway: '0.0.0.0' }
  await expect(204, fresh.call('PUT', '/config/network', { as: ADMIN, json }))
  const device = { ...fresh, ...clientAt(ethernet.portTo(node.address)) }
  await equip({ call: device.call, peerUrl: node.peerUrl }, ca)
  return device
}

async function remove(by: Node, peerUrl: string): Promise<void> {
  const { id } = (await votersOf(by)).find(({ urls }) => urls.includes(peerUrl))!
  await until('removal', async () => {
    const { status } = await by.device.call('DELETE', `/cluster/members/${id}`, { as: ADMIN })
    return status === 204 || status === 404
  })
}

const peerOf = ({ peerUrl, device }: Node): Peer => ({ peerUrl, call: device.call })

/** Asked for again where a connection failed, which happens on a machine that has no time. */
const read = ({ device }: Pick<Node, 'device'>, path: string): Promise<Reply> =>
  expect(
    200,
    until(path, () => device.call('GET', path, { as: ADMIN }).catch(() => null)),
  )

async function votersOf({ device }: Node): Promise<Member[]> {
  const reply = await until('members', async () => {
    const reply = await device.call('GET', '/cluster/members', { as: ADMIN }).catch(() => null)
    return reply?.status === 503 ? null : reply
  })
  const members = (await expect(200, Promise.resolve(reply))).json<Member[]>()
  return members.filter(({ learner }) => !learner)
}

const keysOf = async (device: Appliance): Promise<string[]> =>
  (await read({ device }, '/keys')).json<{ id: string }[]>().map(({ id }) => id)

async function appliedBy({ device }: Node): Promise<string | null> {
  const reply = await device.call('GET', '/metrics', { as: WATCHER, accept: 'text/plain' }).catch(() => null)
  return /^coffer_cluster_applied (\d+)$/m.exec(reply?.text() ?? '')?.[1] ?? null
}
