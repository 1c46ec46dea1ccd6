// @test long 150
/**
 * Records that one node loses come back from the others: whole appliances over TLS, each a boot manager, a firmware and an etcd.
 * Records that all of their etcds have lost are refused by each.
 */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, renameSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import Sqlite from 'better-sqlite3-multiple-ciphers'
import { ADMIN, expect, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { bringIn, type ClusterNode, startCluster, unlock, until } from '../support/cluster.ts'
import { fileNeeds } from '../support/tools.ts'
import { sameRecords } from './records.ts'

await fileNeeds('etcd', 'openssl')

const OPERATOR = 'signer:words of an operator'
const DISK_BYTES = 512 * 1024 * 1024 // etcd takes 64 MB for each of its logs in advance
const FILL_BYTES = 1024 * 1024
const LOST_MS = 60_000 // contract section 3.6, force-new

const key = (id: string) => ({ id, type: 'EC_P256', mechanisms: ['ECDSA_Signature'] })
const make = (node: ClusterNode, id: string) =>
  until(`key ${id}`, async () => {
    const reply = await node.call('POST', '/keys/generate', { as: ADMIN, json: key(id) }).catch(() => null)
    assert.ok(reply === null || [201, 409, 412, 503].includes(reply.status), reply?.text())
    return reply?.status === 201 || reply?.status === 409 // it was made, and nobody knew
  })
const statusOf = async (node: ClusterNode, method: string, path: string, json?: object, as = ADMIN) =>
  (await node.call(method, path, { as, ...(json && { json }) }).catch(() => null))?.status
const sign = (node: ClusterNode, id: string) =>
  statusOf(node, 'POST', `/keys/${id}/sign`, { mode: 'ECDSA', message: Buffer.alloc(32).toString('base64') }, OPERATOR)
const signs = (node: ClusterNode, id: string) =>
  until(`signature of ${node.name}`, async () => (await sign(node, id)) === 200)
const etcdOf = ({ dataDirectory }: ClusterNode): string => join(dataDirectory, 'etcd')

function forgetRecords({ dataDirectory }: ClusterNode): void {
  const database = new Sqlite(join(dataDirectory, 'store/store.db'))
  for (const table of ['users', 'keys', 'privateKeys', 'heads']) database.exec(`DELETE FROM "${table}"`)
  database.close()
}

/** It goes on with all it has on a small disk, until that is unmounted; null where only root may. */
async function onSmallDisk(node: ClusterNode) {
  const { dataDirectory: place } = node
  const aside = `${place}.aside`
  const copy = (from: string, to: string) => assert.equal(spawnSync('cp', ['-a', `${from}/.`, to]).status, 0)
  await node.stop()
  copy(place, aside)
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'coffer-test', place]).status === 0
  if (isMounted) copy(aside, place)
  node.start()
  if (!isMounted) return null
  const filler = join(place, 'filler')
  return {
    fill() {
      for (let room = statfsSync(place); room.bavail > 0; room = statfsSync(place))
        writeFileSync(filler, Buffer.alloc(Math.min(FILL_BYTES, room.bavail * room.bsize)), { flag: 'a' })
    },
    empty: () => rmSync(filler),
    async unmount() {
      await node.stop()
      rmSync(aside, { recursive: true })
      copy(place, aside)
      assert.equal(spawnSync('umount', [place]).status, 0)
      rmSync(place, { recursive: true })
      renameSync(aside, place)
      node.start()
    },
  }
}

test('a cluster of three', async (t) => {
  const { nodes } = await startCluster(t)
  const [first, second, third] = nodes as [ClusterNode, ClusterNode, ClusterNode]
  const signer = { realName: 'Signer', role: 'Operator', passphrase: OPERATOR.split(':')[1] }
  await expect(201, first.call('PUT', '/users/signer', { as: ADMIN, json: signer }))
  await make(second, 'stays')
  await make(third, 'goes')
  await sameRecords(nodes)

  await second.kill()
  rmSync(etcdOf(second), { recursive: true })
  second.start()
  const lostAt = performance.now()
  await t.test('one whose etcd has lost its data signs on, and starts none that is empty', async () => {
    await signs(second, 'stays')
    assert.equal(second.etcdPid(), null)
    assert.match(second.output(), /an empty member must not take its name/)
    assert.equal(await statusOf(second, 'POST', '/keys/generate', key('here')), 503)
  })

  await t.test('one that was locked has what the others have changed', async () => {
    await expect(204, third.call('POST', '/lock', { as: ADMIN }))
    await make(first, 'while-locked')
    await until('deletion', async () => [204, 404].includes((await statusOf(first, 'DELETE', '/keys/goes')) ?? 0))
    await unlock(third)
    assert.equal(await sign(third, 'while-locked'), 200)
    assert.equal(await sign(third, 'goes'), 404)
    await sameRecords([first, third])
  })

  await t.test('one that has lost SQLite’s copy has it again, when it was started again', async () => {
    await third.stop()
    forgetRecords(third)
    third.start()
    await signs(third, 'while-locked')
    await sameRecords([first, third])
    await make(third, 'afterwards')
  })

  await t.test('one without its etcd is whole again once it was removed, goes on alone and joins anew', async () => {
    const members = await expect(200, first.call('GET', '/cluster/members', { as: ADMIN }))
    const { id } = members.json<{ id: string; urls: string[] }[]>().find(({ urls }) => urls.includes(second.peerUrl))!
    await until('removal', async () => (await statusOf(first, 'DELETE', `/cluster/members/${id}`)) === 204)
    await signs(second, 'stays')
    await until('time that it has lost them', () => performance.now() - lostAt > LOST_MS)
    const forced = () => statusOf(second, 'POST', '/cluster/force-new', undefined, `unlock:${UNLOCK_PASSPHRASE}`)
    await until('going on alone', async () => (await forced()) === 204)
    await signs(second, 'stays')
    await bringIn(first, second)
    await sameRecords(nodes)
    await make(second, 'again')
    await signs(third, 'again')
  })

  await t.test('one whose disk was full has what came meanwhile, when there is room again', async (t) => {
    const disk = await onSmallDisk(third)
    if (disk === null) return t.skip('only root can mount a small disk')
    try {
      await signs(third, 'stays')
      disk.fill()
      for (let n = 0; n < 20; n++) await make(first, `full${n}`)
      assert.equal(await sign(third, 'stays'), 200, 'it signs with a full disk')
      disk.empty()
      await signs(third, 'full19')
      await sameRecords(nodes)
    } finally {
      await disk.unmount()
    }
    await signs(third, 'full19')
  })

  await t.test(
    'all refuse an etcd whose disks were all put back, sign on, and one goes on alone with what it has',
    async () => {
      await Promise.all(nodes.map((node) => node.stop()))
      for (const node of nodes) cpSync(etcdOf(node), `${etcdOf(node)}.old`, { recursive: true })
      for (const node of nodes) node.start()
      await make(first, 'later')
      await make(third, 'latest')
      for (const node of nodes) await signs(node, 'latest')
      await sameRecords(nodes)
      await Promise.all(nodes.map((node) => node.stop()))
      for (const node of nodes) {
        rmSync(etcdOf(node), { recursive: true })
        renameSync(`${etcdOf(node)}.old`, etcdOf(node))
      }
      for (const node of nodes) node.start()
      for (const node of nodes)
        await until('refusal', () => /they are older than those of this node/.test(node.output()))
      for (const node of nodes) {
        await signs(node, 'latest')
        assert.equal(await statusOf(node, 'POST', '/keys/generate', key('more')), 500)
        assert.match(
          (await node.call('GET', '/health/diagnose', { as: ADMIN })).text(),
          /older than those of this node/,
        )
      }
      await expect(204, first.call('POST', '/cluster/force-new', { as: `unlock:${UNLOCK_PASSPHRASE}` }))
      await signs(first, 'latest')
      await make(first, 'alone')
    },
  )
})
