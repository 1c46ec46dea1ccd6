/** The records that the nodes of a cluster share, as each has them on its disk: bit for bit the same. */

import { join } from 'node:path'
import { digestStore } from '../backup/rig.ts'
import { type ClusterNode, until } from '../support/cluster.ts'

const COUNTS = 'counts' // of operations, which a restore does not touch
const SHARED = ['users', 'namespaces', 'keys', 'privateKeys', 'certificates']

export async function sameRecords(nodes: readonly ClusterNode[], { withCounts = true } = {}): Promise<string> {
  const tables = withCounts ? [...SHARED, COUNTS] : SHARED
  const { digest } = await until('equal records', () => {
    const [digest, ...others] = nodes.map(({ dataDirectory }) => digestStore(join(dataDirectory, 'store'), tables))
    return others.every((other) => other === digest) ? { digest: digest! } : null
  })
  return digest
}
