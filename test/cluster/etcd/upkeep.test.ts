/** Room in the databases of real etcds, which are filled: how it comes back, in which order, and what keeps it from that. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import test, { type TestContext } from 'node:test'
import * as z from 'zod'
import { EtcdError } from '../../../firmware/cluster/etcd/error.ts'
import type { Etcd } from '../../../firmware/cluster/etcd/etcd.ts'
import { createGateway } from '../../../firmware/cluster/etcd/gateway.ts'
import { createUpkeep } from '../../../firmware/cluster/etcd/upkeep.ts'
import { type EtcdCluster, type EtcdMember, startEtcd, startSmallEtcd } from '../../support/etcd.ts'
import { fileNeeds } from '../../support/tools.ts'
import { until } from '../replica/rig.ts'

await fileNeeds('etcd')

const MIB = 1024 * 1024
const QUOTA = 24 * MIB
const TURN = '/defragmentation'

interface Keeper {
  readonly member: EtcdMember
  readonly etcd: Etcd
  readonly problems: string[]
  readonly done: string[]
  readonly id: string
  problem(): string | null
  look(): Promise<void>
}

interface Keepers {
  all: Keeper[]
  /** How far the clock of all is ahead, which stands still otherwise. */
  laterMs: number
  freeBytes: number
}

async function keepersOf({ members }: EtcdCluster, quotaBytes = QUOTA): Promise<Keepers> {
  const keepers: Keepers = { all: [], laterMs: 0, freeBytes: Number.POSITIVE_INFINITY }
  for (const member of members) {
    const client = member.connect()
    // Before 3.6 it does not say what it was told.
    const etcd = { ...client, status: async () => ({ ...(await client.status()), quotaBytes }) }
    const problems: string[] = []
    const done: string[] = []
    const upkeep = createUpkeep({
      ...{ etcd, nowMs: () => keepers.laterMs, freeBytes: () => keepers.freeBytes },
      onProblem: (what) => void problems.push(what),
      onDone: (what) => void done.push(what),
    })
    const { memberId: id } = await etcd.status()
    keepers.all.push({ member, etcd, problems, done, id, problem: () => upkeep.problem, look: upkeep.look })
  }
  return keepers
}

const put = (etcd: Etcd, key = '/coffer/x'): Promise<void> => etcd.put(key, randomBytes(MIB), 60_000)

async function fill(etcd: Etcd): Promise<void> {
  for (;;) {
    try {
      await put(etcd)
    } catch (error) {
      assert.equal((error as EtcdError).code, 'full', String(error))
      return
    }
  }
}

const isFull = (error: unknown): boolean => error instanceof EtcdError && error.code === 'full'

const sizeOf = async ({ etcd }: Keeper): Promise<number> => (await etcd.status()).databaseBytes

async function leaderOf(keepers: Keeper[]): Promise<Keeper> {
  const { leader } = await keepers[0]!.etcd.status()
  return keepers.find(({ id }) => id === leader)!
}

async function alarmedBy(etcd: Etcd): Promise<string[]> {
  return (await etcd.status()).spaceAlarms
}

async function raise(t: TestContext, member: EtcdMember, id: string): Promise<void> {
  const gateway = createGateway(member.socket)
  t.after(() => gateway.close())
  const memberID = BigInt(`0x${id}`).toString()
  await gateway.call('maintenance/alarm', { action: 'ACTIVATE', memberID, alarm: 'NOSPACE' }, z.unknown(), 10_000)
}

test('a cluster whose databases are full takes changes again once one member after the other has made room, none while it leads', async (t) => {
  const keepers = await keepersOf(await startSmallEtcd(t, QUOTA, 'a', 'b', 'c'))
  const { all } = keepers
  const { etcd } = all[0]!
  await fill(etcd)
  await until('all have heard of it', async () =>
    (await Promise.all(all.map(({ etcd }) => alarmedBy(etcd)))).every(({ length }) => length > 0),
  )
  await assert.rejects(put(etcd), isFull)

  const order: Keeper[] = []
  await until('all have made room', async () => {
    for (const keeper of all) {
      const before = keeper.done.length
      await keeper.look()
      if (!keeper.done.slice(before).some((what) => what.includes('defragmented'))) continue
      order.push(keeper)
      assert.notEqual(await leaderOf(all), keeper)
    }
    return order.length >= 3 && (await alarmedBy(etcd)).length === 0
  })
  assert.deepEqual(new Set(order), new Set(all))
  for (const keeper of all) {
    assert.match(keeper.problems[0]!, /^Nothing can be changed: the database of etcd is full \(NOSPACE\)/)
    assert.ok((await sizeOf(keeper)) < QUOTA / 4)
    await keeper.look()
    assert.equal(keeper.problem(), null)
  }
  await put(etcd)
})

test('what was replaced goes before the database is full, the newest values stay, and the file is made smaller in time', async (t) => {
  const keepers = await keepersOf(await startEtcd(t, 'a'), 16 * MIB)
  const [a] = keepers.all as [Keeper]
  const { etcd } = a
  for (let n = 0; n < 101; n++) await etcd.put('/coffer/y', randomBytes(10))
  const { revision } = await etcd.get('/coffer/y')
  for (let n = 0; n < 3; n++) await put(etcd)
  await a.look()
  await etcd.get('/coffer/y', { revision: revision - 100 }) // less than half of it is used
  for (let n = 0; n < 10; n++) await put(etcd)
  await a.look()
  await assert.rejects(etcd.get('/coffer/y', { revision: revision - 100 }), /compacted/)
  await etcd.get('/coffer/y', { revision: revision - 70 })
  assert.equal((await etcd.get('/coffer/x')).entry!.value.length, MIB)
  await etcd.compact((await etcd.get('/coffer/x')).revision)
  await until('what it took is free', async () => {
    await etcd.put('/coffer/y', randomBytes(1)) // etcd counts it at the next write
    return (await etcd.status()).databaseBytesInUse < 4 * MIB
  })
  await a.look()
  assert.match(a.done[0]!, /defragmented: \d+ to \d MB/)
  assert.equal((await etcd.get(TURN)).entry, null)
  await put(etcd)
})

test('a file of which the better part is free is written anew when nothing was written for a while, by one member at a time', async (t) => {
  const keepers = await keepersOf(await startEtcd(t, 'a'), Number.POSITIVE_INFINITY)
  const [a] = keepers.all as [Keeper]
  const { etcd } = a
  for (let n = 0; n < 70; n++) await put(etcd)
  await etcd.compact((await etcd.get('/coffer/x')).revision)
  await until('what it took is free', async () => {
    await etcd.put(TURN, randomBytes(1)) // etcd counts it at the next write
    return (await etcd.status()).databaseBytesInUse < 10 * MIB
  })
  await a.look()
  await a.look()
  assert.deepEqual(a.done, [], 'it was written to just before')
  keepers.laterMs += 60_000
  await a.look()
  assert.deepEqual(a.done, [], 'another member is at it')
  keepers.laterMs += 1_200_000
  await a.look()
  assert.match(a.done[0]!, /defragmented: \d+ to \d MB/)
  assert.equal((await etcd.get(TURN)).entry, null)
})

test('a disk without room for the copy is told, and waited for', async (t) => {
  const keepers = await keepersOf(await startSmallEtcd(t, QUOTA, 'a'))
  const [a] = keepers.all as [Keeper]
  await fill(a.etcd)
  keepers.freeBytes = 0
  for (let look = 0; look < 4; look++) await a.look()
  assert.equal(a.problems.length, 2)
  assert.match(a.problems[1]!, /disk has too little room/)
  await assert.rejects(put(a.etcd), isFull)
  keepers.freeBytes = Number.POSITIVE_INFINITY
  await until('it takes changes', async () => {
    await a.look()
    return (await alarmedBy(a.etcd)).length === 0
  })
  await put(a.etcd)
})

test('an alarm without reason is taken back, also that of one who is no member any more, but none of another member', async (t) => {
  const cluster = await startEtcd(t, 'a', 'b', 'c')
  const keepers = await keepersOf(cluster)
  const [a, b, c] = keepers.all as [Keeper, Keeper, Keeper]
  for (const { id } of keepers.all) await raise(t, a.member, id)
  await assert.rejects(put(a.etcd), isFull)
  await until('it is heard of', async () => (await alarmedBy(c.etcd)).length === 3)
  for (let look = 0; look < 10; look++) await a.look()
  assert.deepEqual(new Set(await alarmedBy(a.etcd)), new Set([b.id, c.id]))
  assert.match(a.problem()!, new RegExp(`that of .*${b.id}`))
  await until('it is removed', () =>
    a.etcd.removeMember(c.id).then(
      () => true,
      (error) => {
        assert.equal((error as EtcdError).code, 'unhealthy')
        return false
      },
    ),
  )
  for (let look = 0; look < 10; look++) await b.look()
  assert.deepEqual(await alarmedBy(b.etcd), [])
  await put(b.etcd)
})
