/**
 * Whole appliances over TLS, whose processes are killed and stopped while clients make keys and change labels on every node: what was
 * answered is on all of them, and nobody sees anything older than before. COFFER_FAULTS: how many; COFFER_SEED: those of a run that failed.
 */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import test from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ADMIN, expect } from '../support/appliance.ts'
import { type ClusterNode, startCluster, until } from '../support/cluster.ts'
import { fileNeeds } from '../support/tools.ts'
import { createDice } from './replica/model.ts'

await fileNeeds('etcd', 'openssl')

const FAULTS = Number(process.env.COFFER_FAULTS ?? (process.env.COFFER_SLOW ? 100 : 8))
const SEED = Number(process.env.COFFER_SEED ?? Math.trunc(Math.random() * 2 ** 31))
const CLIENTS = 4 // on each node
const REGISTERS = 4 // keys, whose labels they are
const USES = 100
const PAUSE_MS_MAX = 5000
const OPERATOR = 'signer:words of an operator'

const register = (n: number): string => `register${n}`
const key = (id: string) => ({ id, type: 'EC_P256', mechanisms: ['ECDSA_Signature'] })

interface Seen {
  made: Set<string>
  /** Nobody said whether they were. */
  perhaps: Set<string>
  /** What one node has shown of one register, in its order. */
  shown: Map<string, (string | undefined)[]>
  unavailable: number
}

/** A reply, or null where the node did not answer, or is not open. */
async function ask(node: ClusterNode, method: string, path: string, json?: unknown, as = ADMIN) {
  try {
    const reply = await node.call(method, path, { as, json, timeoutMs: 60_000 })
    return reply.status === 412 ? null : reply
  } catch {
    return null
  }
}

/** Answered, refused, or nobody knows: throws for any other answer. */
async function write(
  node: ClusterNode,
  method: string,
  path: string,
  json: unknown,
): Promise<'done' | 'not' | 'perhaps'> {
  let reply: Awaited<ReturnType<typeof node.call>>
  try {
    reply = await node.call(method, path, { as: ADMIN, json, timeoutMs: 60_000 })
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED' ? 'not' : 'perhaps'
  }
  if (reply.status === 201 || reply.status === 204) return 'done'
  if (reply.status === 503 && /not known/.test(reply.text())) return 'perhaps'
  assert.ok([412, 503].includes(reply.status), `${reply.request}: ${reply.status} ${reply.text()}`)
  return 'not'
}

async function client(node: ClusterNode, number: number, seen: Seen, isOver: () => boolean): Promise<void> {
  const dice = createDice(SEED + number)
  for (let n = 0; !isOver(); n++) {
    const label = `${number}.${n}`
    if (dice(3) === 0) await make(node, `key${number}x${n}`, seen)
    else {
      const id = register(number % REGISTERS) // each client of a node has its own there
      const outcome = await write(node, 'PUT', `/keys/${id}/label`, { label })
      const reply = await ask(node, 'GET', `/keys/${id}`)
      if (reply?.status === 200) seen.shown.get(`${node.name} ${id}`)!.push(reply.json<{ label?: string }>().label)
      if (outcome !== 'done') seen.unavailable++
    }
    await wait(dice(100))
  }
}

async function make(node: ClusterNode, id: string, seen: Seen): Promise<void> {
  const outcome = await write(node, 'POST', '/keys/generate', key(id))
  if (outcome === 'perhaps') seen.perhaps.add(id)
  if (outcome === 'not') seen.unavailable++
  if (outcome !== 'done') return
  seen.made.add(id)
  const reply = await ask(node, 'GET', `/keys/${id}`)
  assert.ok(reply === null || [200, 503].includes(reply.status), `who was answered reads it at once: ${reply?.status}`)
}

type Fault = (nodes: readonly ClusterNode[], forMs: number) => Promise<void>

const signal = (pid: number | null, name: NodeJS.Signals): void => {
  try {
    if (pid !== null) process.kill(pid, name)
  } catch {} // it has just ended
}

async function stopped(pids: (number | null)[], forMs: number): Promise<void> {
  for (const pid of pids) signal(pid, 'SIGSTOP')
  await wait(forMs)
  for (const pid of pids) signal(pid, 'SIGCONT')
}

/** Of the first of them, and another one. */
const faults: Record<string, Fault> = {
  'its etcd is killed': async ([node]) => signal(node!.etcdPid(), 'SIGKILL'),
  'its firmware is killed': async ([node]) => signal(node!.firmwarePid(), 'SIGKILL'),
  'both are killed': async ([node]) => {
    signal(node!.etcdPid(), 'SIGKILL')
    signal(node!.firmwarePid(), 'SIGKILL')
  },
  'all of it is killed': async ([node], forMs) => {
    await node!.kill()
    await wait(forMs / 5)
    node!.start()
  },
  'it is stopped in order': async ([node], forMs) => {
    await node!.stop()
    await wait(forMs / 5)
    node!.start()
  },
  'its etcd is stopped': ([node], forMs) => stopped([node!.etcdPid()], forMs),
  'its firmware is stopped': ([node], forMs) => stopped([node!.firmwarePid()], forMs),
  'two etcds are killed': async ([node, other]) => {
    for (const { etcdPid } of [node!, other!]) signal(etcdPid(), 'SIGKILL')
  },
  'two etcds are stopped': ([node, other], forMs) => stopped([node!.etcdPid(), other!.etcdPid()], forMs),
}

/** Null while it does not answer. */
async function keysOf(node: ClusterNode): Promise<string[] | null> {
  const reply = await ask(node, 'GET', '/keys')
  return reply?.status === 200
    ? reply
        .json<{ id: string }[]>()
        .map(({ id }) => id)
        .sort()
    : null
}

async function labelsOf(node: ClusterNode): Promise<(string | undefined)[]> {
  const labels: (string | undefined)[] = []
  for (let n = 0; n < REGISTERS; n++)
    labels.push((await ask(node, 'GET', `/keys/${register(n)}`))?.json<{ label?: string }>().label)
  return labels
}

test(`what was made on one node is used on the others at once; ${FAULTS} random faults cost nothing that was answered`, async (t) => {
  t.diagnostic(`COFFER_SEED=${SEED}`)
  const dice = createDice(SEED)
  const { nodes } = await startCluster(t)
  const [first] = nodes as [ClusterNode]
  const signer = { realName: 'Signer', role: 'Operator', passphrase: OPERATOR.split(':')[1] }
  await expect(201, first.call('PUT', '/users/signer', { as: ADMIN, json: signer }))

  await t.test(`a key made on one is used on another, ${USES} times without one 404`, async () => {
    const message = randomBytes(32).toString('base64')
    for (let n = 0; n < USES; n++) {
      const [maker, user] = [nodes[n % nodes.length]!, nodes[(n + 1 + dice(2)) % nodes.length]!]
      await expect(201, maker.call('POST', '/keys/generate', { as: ADMIN, json: key(`used${n}`) }))
      const json = { mode: 'ECDSA', message }
      await expect(200, user.call('POST', `/keys/used${n}/sign`, { as: OPERATOR, json }))
    }
  })

  const seen: Seen = { made: new Set(), perhaps: new Set(), shown: new Map(), unavailable: 0 }
  for (let n = 0; n < REGISTERS; n++) {
    await expect(201, first.call('POST', '/keys/generate', { as: ADMIN, json: key(register(n)) }))
    for (const { name } of nodes) seen.shown.set(`${name} ${register(n)}`, [])
  }
  let isOver = false
  const clients = nodes.flatMap((node, at) =>
    Array.from({ length: CLIENTS }, (_, n) => client(node, at * CLIENTS + n, seen, () => isOver)),
  )
  const failure = Promise.all(clients).then(() => null)
  failure.catch(() => {}) // told below

  const kinds = Object.entries(faults)
  for (let n = 0; n < FAULTS; n++) {
    const [name, fault] = kinds[dice(kinds.length)]!
    const at = dice(nodes.length)
    const hit = [nodes[at]!, nodes[(at + 1 + dice(2)) % nodes.length]!]
    t.diagnostic(`${hit[0]!.name}: ${name}`)
    await Promise.race([fault(hit, dice(PAUSE_MS_MAX)), failure])
    await wait(1000 + dice(3000))
  }
  const stateOf = async (node: ClusterNode) => (await ask(node, 'GET', '/health/ready'))?.status
  for (const node of nodes) await until('open node', async () => (await stateOf(node)) === 200)
  isOver = true
  await failure
  for (const node of nodes)
    await until(
      `change on ${node.name}`,
      async () =>
        (await write(node, 'POST', '/keys/generate', key(`last${node.address}`.replaceAll('.', 'x')))) !== 'not',
    )

  const all = await until('equal lists', async () => {
    const [one, ...others] = await Promise.all(nodes.map(keysOf))
    return one && others.every((other) => JSON.stringify(other) === JSON.stringify(one)) ? one : null
  })
  const listed = new Set(all)
  for (const id of seen.made) assert.ok(listed.has(id), `${id} was answered`)
  for (const id of all)
    assert.ok(/^(used|register|last)/.test(id) || seen.made.has(id) || seen.perhaps.has(id), `${id}: nobody asked`)
  const [labels, ...others] = await Promise.all(nodes.map(labelsOf))
  for (const other of others) assert.deepEqual(other, labels)
  for (const [place, shown] of seen.shown) {
    const changes = shown.filter((label, at) => label !== shown[at - 1])
    assert.equal(new Set(changes).size, changes.length, `${place} went back: ${changes.join(' ')}`)
  }
  t.diagnostic(`${seen.made.size} keys, ${seen.perhaps.size} unknown, ${seen.unavailable} not now`)
  assert.ok(seen.made.size > 20)
})
