// @test long 75 slow
/**
 * Whole appliances over TLS, whose processes are killed, stopped and kept from each other while clients use them: what was answered is
 * on all of them, and what they showed can have been one appliance. COFFER_FAULTS: how many; COFFER_SEED: those of a run that failed.
 */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import test, { type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ADMIN, expect } from '../support/appliance.ts'
import type { Reply } from '../support/client.ts'
import { type Cluster, type ClusterNode, leaderOf, startCluster, until } from '../support/cluster.ts'
import { fileNeeds } from '../support/tools.ts'
import { cutOff, faults } from './faults.ts'
import { isLinearizable, type Operation } from './history.ts'
import { sameRecords } from './records.ts'
import { createDice } from './replica/model.ts'

await fileNeeds('etcd', 'openssl')

const FAULTS = Number(process.env.COFFER_FAULTS ?? (process.env.COFFER_SLOW ? 200 : 8))
const SEED = Number(process.env.COFFER_SEED ?? Math.trunc(Math.random() * 2 ** 31))
const CLIENTS = 4 // on each node
const REGISTERS = 6 // keys, whose labels they are
const USES = process.env.COFFER_SLOW ? 10_000 : 240
const USERS = 6 // at a time
const PASSPHRASES = process.env.COFFER_SLOW ? 30 : 3
const FAULT_MS_MAX = 5000
const SIGNER = 'signer'
const OPERATOR = `${SIGNER}:words of an operator`
const TAG = `/users/${SIGNER}/tags/there-already`

const register = (n: number): string => `register${n}`
const key = (id: string) => ({ id, type: 'EC_P256', mechanisms: ['ECDSA_Signature'] })
const message = randomBytes(32).toString('base64')
const sign = (node: ClusterNode, id: string, as: string, from?: string): Promise<Reply> =>
  node.call('POST', `/keys/${id}/sign`, { as, from, json: { mode: 'ECDSA', message } })

interface Seen {
  /** By register. */
  histories: Map<string, Operation[]>
  made: Set<string>
  perhaps: Set<string>
  shown: Map<string, (string | null)[]>
  unavailable: number
}

/** A reply, or null where the node did not answer, is not open or has not got what it needs. */
async function ask(node: ClusterNode, method: string, path: string): Promise<Reply | null> {
  try {
    const reply = await node.call(method, path, { as: ADMIN, timeoutMs: 60_000 })
    return [412, 503].includes(reply.status) ? null : reply
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
  let reply: Reply
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

async function labelOf(node: ClusterNode, id: string): Promise<{ label: string | null } | null> {
  const reply = await ask(node, 'GET', `/keys/${id}`)
  if (reply === null) return null
  assert.equal(reply.status, 200, reply.text())
  return { label: reply.json<{ label?: string }>().label ?? null }
}

class Client {
  readonly #node: ClusterNode
  readonly #number: number
  readonly #seen: Seen
  #writes = 0

  constructor(node: ClusterNode, number: number, seen: Seen) {
    this.#node = node
    this.#number = number
    this.#seen = seen
  }

  async run(isOver: () => boolean): Promise<void> {
    const dice = createDice(SEED + this.#number)
    while (!isOver()) {
      const id = register(dice(REGISTERS))
      const kind = dice(10)
      if (kind < 4) await this.#write(id)
      else if (kind < 8) await this.#read(id)
      else await this.#make()
      await wait(dice(100))
    }
  }

  async #write(id: string): Promise<void> {
    const label = `${this.#number}.${this.#writes++}`
    const operation: Operation = { kind: 'write', value: label, calledMs: performance.now(), answeredMs: null }
    const outcome = await write(this.#node, 'PUT', `/keys/${id}/label`, { label })
    if (outcome === 'done') operation.answeredMs = performance.now()
    if (outcome === 'not') this.#seen.unavailable++
    else this.#seen.histories.get(id)!.push(operation)
    if (outcome !== 'done') return
    this.#show(id, label)
    const after = await labelOf(this.#node, id)
    if (after !== null) this.#show(id, after.label)
  }

  /** A change that finds nothing to do is confirmed by all: what is read afterwards is not older. Without it, it may be. */
  async #read(id: string): Promise<void> {
    const calledMs = performance.now()
    const confirmation = await ask(this.#node, 'PUT', TAG)
    assert.ok(confirmation === null || confirmation.status === 304, confirmation?.text())
    const found = await labelOf(this.#node, id)
    if (found === null) return
    this.#show(id, found.label)
    if (confirmation === null) return
    this.#seen.histories.get(id)!.push({ kind: 'read', value: found.label, calledMs, answeredMs: performance.now() })
  }

  async #make(): Promise<void> {
    const id = `key${this.#number}x${this.#writes++}`
    const outcome = await write(this.#node, 'POST', '/keys/generate', key(id))
    if (outcome === 'perhaps') this.#seen.perhaps.add(id)
    if (outcome === 'not') this.#seen.unavailable++
    if (outcome !== 'done') return
    this.#seen.made.add(id)
    await labelOf(this.#node, id) // who was answered reads it at once
  }

  #show(id: string, label: string | null): void {
    const place = `${this.#node.name} client ${this.#number} ${id}`
    const shown = this.#seen.shown.get(place) ?? []
    this.#seen.shown.set(place, shown)
    if (shown.at(-1) !== label) shown.push(label)
  }
}

async function strike(t: TestContext, { nodes, partition }: Cluster, failure: Promise<null>): Promise<void> {
  const dice = createDice(SEED)
  const kinds = Object.entries(faults)
  for (let n = 0; n < FAULTS; ) {
    const leader = await leaderOf(nodes)
    const first = dice(2) === 0 ? leader : (leader + 1 + dice(2)) % nodes.length
    const places = dice(3) === 0 ? [first, (first + 1 + dice(2)) % nodes.length] : [first] // two at once, or one
    const strikes = places.map(async (at) => {
      const node = nodes[at]!
      const [name, fault] = kinds[dice(kinds.length)]!
      t.diagnostic(`${node.name}${at === leader ? ', the leader' : ''}: ${name}`)
      await fault({ node, others: nodes.filter((one) => one !== node), forMs: dice(FAULT_MS_MAX), partition })
    })
    await Promise.race([Promise.all(strikes), failure])
    n += places.length
    await wait(500 + dice(3000))
  }
}

const changes = (node: ClusterNode, id: string): Promise<boolean> =>
  until('change', async () => (await write(node, 'POST', '/keys/generate', key(id))) !== 'not')

test(`three appliances are one: ${FAULTS} random faults cost nothing that was answered`, async (t) => {
  t.diagnostic(`COFFER_SEED=${SEED}`)
  const cluster = await startCluster(t, { isApart: true })
  const { nodes } = cluster
  const [first] = nodes as [ClusterNode]
  const [id, passphrase] = OPERATOR.split(':')
  const signer = { realName: 'Signer', role: 'Operator', passphrase }
  await expect(201, first.call('PUT', `/users/${id}`, { as: ADMIN, json: signer }))
  await expect(204, first.call('PUT', TAG, { as: ADMIN }))

  await t.test(`a key made on one is used on another, ${USES} times without one 404`, async () => {
    const dice = createDice(SEED)
    const left = Array.from({ length: USES }, (_, n) => n).values() // which they share
    const use = async (): Promise<void> => {
      for (const n of left) {
        const [maker, user] = [nodes[n % nodes.length]!, nodes[(n + 1 + dice(2)) % nodes.length]!]
        // Where the computer is busy, an election may come between; then a key may be there that was answered with 503.
        const expected = [201, 503]
        await until(`key used${n}`, async () => {
          const reply = await maker.call('POST', '/keys/generate', { as: ADMIN, json: key(`used${n}`) })
          assert.ok(expected.includes(reply.status), reply.text())
          if (reply.status === 503) expected.push(409)
          return reply.status !== 503
        })
        await expect(200, sign(user, `used${n}`, OPERATOR))
      }
    }
    await Promise.all(Array.from({ length: USERS }, use))
  })

  await t.test(`a wrong passphrase that is set right on one is right on the others, ${PASSPHRASES} times`, async () => {
    for (let n = 0; n < PASSPHRASES; n++) {
      const [setter, ...others] = [0, 1, 2].map((at) => nodes[(n + at) % nodes.length]!) as [ClusterNode, ClusterNode]
      const json = { passphrase: `words number ${n}` }
      const as = `${SIGNER}:${json.passphrase}`
      const from = `127.1.1.${1 + n}` // whose next attempt is delayed
      for (const node of others) await expect(401, sign(node, 'used0', as, from))
      await expect(204, setter.call('POST', `/users/${SIGNER}/passphrase`, { as: ADMIN, json }))
      await Promise.all(others.map((node) => expect(200, sign(node, 'used0', as))))
    }
  })

  await t.test(
    'the leader, cut off, signs and changes nothing; the others go on; then it does, by itself',
    async () => {
      const far = nodes[await leaderOf(nodes)]!
      const others = nodes.filter((node) => node !== far)
      cutOff({ node: far, others, partition: cluster.partition })
      await until('refusal', async () => (await write(far, 'POST', '/keys/generate', key('far'))) === 'not')
      for (const [at, node] of others.entries()) await changes(node, `near${at}`)
      await expect(200, sign(far, 'used0', `${SIGNER}:words number ${PASSPHRASES - 1}`))
      cluster.partition.heal()
      await changes(far, 'back')
    },
  )

  await t.test(`${FAULTS} faults`, (t) => surviveFaults(t, cluster))
})

async function surviveFaults(t: TestContext, cluster: Cluster): Promise<void> {
  const { nodes } = cluster
  const registers = Array.from({ length: REGISTERS }, (_, n) => register(n))
  for (const id of registers) await expect(201, nodes[0]!.call('POST', '/keys/generate', { as: ADMIN, json: key(id) }))
  const seen: Seen = {
    histories: new Map(registers.map((id) => [id, []])),
    ...{ made: new Set(), perhaps: new Set(), shown: new Map(), unavailable: 0 },
  }
  let isOver = false
  const clients = nodes.flatMap((node, at) =>
    Array.from({ length: CLIENTS }, (_, n) => new Client(node, 1 + at * CLIENTS + n, seen).run(() => isOver)),
  )
  const failure = Promise.all(clients).then(() => null)
  failure.catch(() => {}) // told below
  await strike(t, cluster, failure)
  const isReady = async (node: ClusterNode) => (await ask(node, 'GET', '/health/ready'))?.status === 200
  for (const node of nodes) await until('open node', () => isReady(node))
  isOver = true
  await failure
  for (const [at, node] of nodes.entries()) await changes(node, `last${at}`)

  await sameRecords(nodes)
  const all = await expect(200, nodes[0]!.call('GET', '/keys', { as: ADMIN }))
  expectNothingLost(
    seen,
    all.json<{ id: string }[]>().map(({ id }) => id),
  )
  const operations = [...seen.histories.values()].reduce((sum, { length }) => sum + length, 0)
  t.diagnostic(`${operations} reads and writes, ${seen.made.size} keys, ${seen.perhaps.size} unknown`)
  t.diagnostic(`${seen.unavailable} not now`)
  assert.ok(operations > FAULTS && seen.made.size > FAULTS)
}

function expectNothingLost({ histories, made, perhaps, shown }: Seen, all: readonly string[]): void {
  const listed = new Set(all)
  for (const id of made) assert.ok(listed.has(id), `${id} was answered`)
  for (const id of all)
    assert.ok(/^(used|register|near|far|back|last)/.test(id) || made.has(id) || perhaps.has(id), `${id}: nobody asked`)
  for (const [place, labels] of shown)
    assert.equal(new Set(labels).size, labels.length, `${place} went back: ${labels.join(' ')}`)
  for (const [id, history] of histories) assert.ok(isLinearizable(history, null), `${id}: ${JSON.stringify(history)}`)
}
