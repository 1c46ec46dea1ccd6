// @test short 15
/** Each node of a cluster has its own settings of ACME and of outgoing connections, and its own account. Contract section 4.7. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAcmeRecords } from '../../../firmware/acme/records.ts'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { startEtcd } from '../../support/etcd.ts'
import { fileNeeds } from '../../support/tools.ts'
import { expectSame, lock, type Node, openNodes, sign, unlock } from './rig.ts'

await fileNeeds('etcd')

const DIRECTORY = 'https://acme.example.org/directory'
const SETTINGS = { directory: DIRECTORY, eab: { kid: 'one', key: 'c2VjcmV0' }, appliance: ['one.example.org'] }

const get = async ({ rig }: Node, path: string) => (await rig.call('GET', path, { as: 'admin' })).json()
const put = async ({ rig }: Node, path: string, json: object) =>
  assert.equal(await rig.status('PUT', path, { as: 'admin', json }), 204)

const recordsOf = ({ rig: { appliance } }: Node) =>
  createAcmeRecords({
    records: appliance.deviceRecords,
    deriveKey: (purpose) => appliance.deriveKey(purpose),
    random: systemRandom,
  })

test('what one node sets, or loses, the others do not have', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), {
    before: async (rig) => {
      const json = SETTINGS
      assert.equal(await rig.status('PUT', '/config/acme', { as: 'admin', json }), 204)
    },
  })
  const [one, two] = nodes as [Node, Node]
  recordsOf(one).putAccount({ directory: DIRECTORY, key: new Uint8Array(8), url: `${DIRECTORY}/1`, contact: [] })
  const of = async (node: Node) => {
    const { directory, eab, appliance, account } = await get(node, '/config/acme')
    return { directory, eab, appliance, account }
  }
  const none = { directory: null, eab: null, appliance: [], account: null }
  const first = { directory: DIRECTORY, eab: { kid: 'one', key: true }, appliance: ['one.example.org'] }
  const account = `${DIRECTORY}/1`
  assert.deepEqual([await of(one), await of(two)], [{ ...first, account }, none])

  const other = { directory: 'https://other.example.org/directory', appliance: ['two.example.org'] }
  await put(two, '/config/acme', other)
  await put(two, '/config/outgoing', { resolvers: ['192.0.2.1'] })
  await one.rig.key('shared') // which both have
  await expectSame(nodes)
  assert.equal((await sign(two, 'shared')).status, 200)
  for (const node of nodes) await lock(node)
  for (const node of nodes) await unlock(node)
  assert.deepEqual(await of(one), { ...first, account })
  assert.deepEqual(await of(two), { ...none, ...other })
  assert.deepEqual(
    [(await get(one, '/config/outgoing')).resolvers, (await get(two, '/config/outgoing')).resolvers],
    [[], ['192.0.2.1']],
  )

  await put(one, '/config/acme', { directory: null })
  await expectSame(nodes)
  assert.deepEqual(await of(two), { ...none, ...other })
  assert.equal(recordsOf(one).account(), null)
})
