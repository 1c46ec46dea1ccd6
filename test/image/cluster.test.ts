/**
 * Three devices on a network of their own become one cluster. One loses its power while keys are being made, and comes back with
 * what the others have; one is removed. Three emulated machines want two cores for minutes: `make test-slow` runs it, nothing beside it.
 */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { API_PORT } from '../../tools/qemu/machine.ts'
import { ADMIN, expect } from '../support/appliance.ts'
import { bringIn, equip, until } from '../support/cluster.ts'
import { createClusterCa } from '../support/cluster-ca.ts'
import { createEthernet, type Ethernet } from '../support/ethernet.ts'
import { type Appliance, boot } from '../support/machine.ts'
import { buildImage, type Image, makeDirectory, needsGo } from './images.ts'
import { makeProvisionedDisk } from './provisioned.ts'

const DISK_BYTES = 640 * 2 ** 20
const KEYS_BEFORE_CUT = 3
const KEYS_AFTER_CUT = 3

/** A device that may be off. */
interface Node {
  address: string
  peerUrl: string
  disk: string
  device: Appliance
}

test('three devices are one cluster', needsGo(), async (t) => {
  const image = await buildImage()
  const ca = createClusterCa(t)
  const addresses = [1, 2, 3].map((number) => `192.168.1.${number}`)
  const ethernet = await createEthernet(t, makeDirectory(t), addresses, API_PORT)
  const nodes: Node[] = []
  for (const address of addresses) {
    const peerUrl = `https://${address}:2380`
    const disk = await makeProvisionedDisk(t, image, ({ call }) => equip({ call, peerUrl }, ca), DISK_BYTES)
    nodes.push({ address, peerUrl, disk, device: await switchOn(t, image, ethernet, { address, disk }) })
  }
  const [first, second, third] = nodes as [Node, Node, Node]
  await Promise.all(nodes.map(({ device }) => device.answers()))

  for (const node of [second, third]) await bringIn(peerOf(first), peerOf(node))
  assert.equal((await membersOf(first)).filter(({ learner }) => !learner).length, 3)

  await t.test('one that loses its power comes back with what the others have', async () => {
    const made: string[] = []
    const make = async (): Promise<void> => {
      const id = `key-${made.length}`
      await until(id, async () => {
        const json = { id, type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
        const { status } = await first.device.call('POST', '/keys/generate', { as: ADMIN, json })
        return status === 201 || status === 409
      })
      made.push(id)
    }
    while (made.length < KEYS_BEFORE_CUT) await make()
    const writing = make()
    await third.device.kill()
    await writing
    while (made.length < KEYS_BEFORE_CUT + KEYS_AFTER_CUT) await make()
    third.device = await switchOn(t, image, ethernet, third)
    await third.device.answers()
    await until('open device', async () => (await third.device.state()) === 'Operational')
    await until('list of all keys', async () => (await keysOf(third.device)).length === made.length)
    for (const { device } of nodes) assert.deepEqual((await keysOf(device)).sort(), made)
    for (const id of made) await expect(200, third.device.call('GET', `/keys/${id}/public.pem`, { as: ADMIN }))
  })

  await t.test('one that is removed is Failed, and the others go on', async () => {
    const { id } = (await membersOf(first)).find(({ urls }) => urls.includes(second.peerUrl))!
    await until('removal', async () => {
      const { status } = await first.device.call('DELETE', `/cluster/members/${id}`, { as: ADMIN })
      return status === 204 || status === 404
    })
    await until('failure', async () => (await second.device.state()) === 'Failed')
    await until('change', async () => {
      const json = { realName: 'Olivia', role: 'Operator', passphrase: 'words of an operator' }
      return (await third.device.call('PUT', '/users/olivia', { as: ADMIN, json })).status === 201
    })
    await expect(200, first.device.call('GET', '/users/olivia', { as: ADMIN }))
  })
})

/** Each has a MAC address that ends like its own. */
function switchOn(
  t: TestContext,
  image: Image,
  { socket, portTo }: Ethernet,
  { address, disk }: Pick<Node, 'address' | 'disk'>,
): Promise<Appliance> {
  const macAddress = `52:54:00:12:34:0${address.at(-1)}`
  return boot(t, image, { disk, cable: { socket, macAddress }, apiPort: portTo(address) })
}

const peerOf = ({ peerUrl, device }: Node) => ({ peerUrl, call: device.call })

const membersOf = async ({ device }: Node): Promise<{ id: string; urls: string[]; learner: boolean }[]> =>
  (await expect(200, device.call('GET', '/cluster/members', { as: ADMIN }))).json()

const keysOf = async (device: Appliance): Promise<string[]> =>
  (await expect(200, device.call('GET', '/keys', { as: ADMIN }))).json<{ id: string }[]>().map(({ id }) => id)
