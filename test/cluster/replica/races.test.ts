/** What comes between two steps of a node: nothing is done on what was true before it, and nobody is left waiting. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { databaseOf } from '../../../firmware/store/sqlite/file.ts'
import { commit } from '../../store/rig.ts'
import { startEtcd } from '../../support/etcd.ts'
import { fileNeeds } from '../../support/tools.ts'
import { expectEqual, failsWith, type Node, openNodes, openStores, put, start, stop, until } from './rig.ts'

await fileNeeds('etcd')

test('a node that finds a damaged record changes nothing before it has it from the others', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), async (first) => {
    await commit(first.vault, [{ collection: 'privateKeys', name: 'one', value: new Uint8Array(100) }])
  })
  const [, b] = nodes as [Node, Node]
  stop(b)
  openStores(b)
  databaseOf(b.store).exec('UPDATE "privateKeys" SET sealed = zeroblob(100)')
  start(b)
  await b.replica.caughtUp()
  await b.vault.watch() // looks at what nobody follows
  await assert.rejects(put(b, 'x', '1'), failsWith('busy', /has not got yet/))
  b.replica.repair()
  await until('it has it again', () =>
    put(b, 'x', '1').then(
      () => true,
      () => false,
    ),
  )
  await expectEqual(nodes)
  assert.deepEqual(
    nodes.flatMap(({ refusals, troubles }) => [...refusals, ...troubles]),
    [],
  )
})
