// @test short slow
/** Replicas over a model of etcd that loses, delays and repeats: many short lives, each from a seed that tells it again. */

import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import * as fc from 'fast-check'
import { CofferError } from '../../../firmware/base/error.ts'
import type { Etcd } from '../../../firmware/cluster/etcd/etcd.ts'
import type { ReplicaTimeouts } from '../../../firmware/cluster/replica/timeouts.ts'
import { isLinearizable, type Operation } from '../history.ts'
import { createDice, createModel, type Dice } from './model.ts'
import {
  expectEqual,
  failsWith,
  get,
  increment,
  load,
  makeNode,
  type Node,
  openStores,
  put,
  start,
  stop,
  until,
} from './rig.ts'

const RUNS = process.env.COFFER_SLOW ? 1000 : 25
const NODES = ['a', 'b', 'c']
const CLIENTS = 2 // on each
const STEPS = 12 // of each client
const HASTE: ReplicaTimeouts = {
  heartbeatMs: 20,
  heartbeatMsMax: 1000,
  retryMsMax: 100,
  retryMs: 2,
  openingMsMax: 1000,
  stalledMs: 200,
  barrierMsMax: 1000,
  resendMs: 1000,
  resendPauseMs: 2,
  outcomeMsMax: 150,
  replacedMsMax: 1000,
}

interface Seen {
  history: Operation[]
  counts: number[]
  inserted: string[]
  unknown: number
}

async function live(node: Node, dice: Dice, seen: Seen, name: string): Promise<void> {
  for (let n = 0; n < STEPS; n++) {
    const value = `${name}.${n}`
    const calledMs = performance.now()
    const note = (kind: 'read' | 'write', value: string | null, answeredMs: number | null): void => {
      seen.history.push({ kind, value, calledMs, answeredMs })
    }
    try {
      const kind = dice(4)
      if (kind === 0) seen.counts.push(await increment(node, 'counter'))
      else if (kind === 1) {
        await put(node, 'register', value).then(
          () => note('write', value, performance.now()),
          (error) => {
            note('write', value, null)
            throw error
          },
        )
      } else if (kind === 2) {
        if (await node.replica.barrier()) note('read', get(node, 'register'), performance.now())
      } else {
        await put(node, value, 'x')
        assert.equal(get(node, value), 'x', 'its own writes are read at once')
        seen.inserted.push(value)
      }
    } catch (error) {
      assert.ok(error instanceof CofferError, String(error))
      if (!/does not answer|not got yet|was not done/.test(error.message)) seen.unknown++
      await wait(dice(10))
    }
  }
}

async function run(t: TestContext, seed: number): Promise<void> {
  const dice = createDice(seed)
  const model = createModel()
  const nodes = NODES.map((name, at) =>
    makeNode(t, name, model.connect(createDice(seed + 1 + at)), { timeouts: HASTE }),
  )
  for (const node of nodes) openStores(node)
  await put(nodes[0]!, 'counter', '0')
  await load({ ...nodes[0]!, etcd: calmOf(model) })
  for (const node of nodes) start(node)
  const seen: Seen = { history: [], counts: [], inserted: [], unknown: 0 }
  let isOver = false
  const clients = nodes.flatMap((node, at) =>
    Array.from({ length: CLIENTS }, (_, n) =>
      live(node, createDice(seed + 10 + at * CLIENTS + n), seen, `${node.name}${n}`),
    ),
  )
  const faults = (async () => {
    while (!isOver) {
      await wait(dice(40))
      const node = nodes[dice(nodes.length)]!
      if (dice(3) === 0) model.compact()
      else if (dice(2) === 0) {
        stop(node)
        await wait(dice(20))
        openStores(node)
        start(node)
      }
    }
  })()
  await Promise.all(clients)
  isOver = true
  await faults
  model.calm()
  await wait(50) // what is still on its way arrives
  for (const { replica, refusals } of nodes) await until(`all follow: ${refusals}`, () => replica.barrier())
  await expectEqual(nodes)

  const last = nodes[0]!
  assert.deepEqual(
    nodes.flatMap(({ refusals, troubles }) => [...refusals, ...troubles]),
    [],
  )
  assert.equal(new Set(seen.counts).size, seen.counts.length, 'no number was given twice')
  const counted = Number(get(last, 'counter'))
  assert.ok(counted >= seen.counts.length && counted <= seen.counts.length + seen.unknown, `${counted} counted`)
  for (const name of seen.inserted) assert.equal(get(last, name), 'x')
  assert.ok(isLinearizable(seen.history, null), JSON.stringify(seen.history))
  for (const node of nodes) stop(node)
}

const calmOf = (model: ReturnType<typeof createModel>) => model.connect((below) => below - 1)

test('whatever is lost, late or done twice, no change is', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.noShrink(fc.integer({ min: 0, max: 2 ** 30 })), (seed) => run(t, seed)),
    { numRuns: RUNS },
  )
})

/** Two nodes; `change` stands before what the first one asks etcd to change. */
async function pair(t: TestContext, change: (etcd: Etcd, other: Node) => Etcd['changeIf']): Promise<[Node, Node]> {
  const model = createModel()
  const calm = calmOf(model)
  const other = makeNode(t, 'b', calm, { timeouts: HASTE })
  const one = makeNode(t, 'a', { ...calm, changeIf: change(calm, other) }, { timeouts: HASTE })
  for (const node of [one, other]) openStores(node)
  await put(one, 'x', 'old')
  await load({ ...one, etcd: calm })
  for (const node of [one, other]) start(node)
  await Promise.all([one, other].map(({ replica }) => replica.caughtUp()))
  return [one, other]
}

test('a change that waits behind one without an answer is refused in its own time, as not done', async (t) => {
  const asked = Promise.withResolvers<void>()
  const [node] = await pair(t, () => () => {
    asked.resolve()
    return new Promise(() => {})
  })
  const first = put(node, 'x', 'new')
  await asked.promise
  const second = put(node, 'y', 'new')
  await assert.rejects(first, failsWith('busy', /not known whether/))
  await assert.rejects(second, failsWith('busy', /was not done/))
  assert.deepEqual([get(node, 'x'), get(node, 'y')], ['old', null])
})

test('a change that another node is always faster than is refused in its time', async (t) => {
  let n = 0
  let isSlow = true
  const [node, other] = await pair(t, (etcd, other) => async (key, revision, writes) => {
    if (isSlow) await put(other, 'z', `${n++}`)
    return etcd.changeIf(key, revision, writes)
  })
  await assert.rejects(put(node, 'y', 'new'), failsWith('busy', /was not done|not known whether/))
  isSlow = false
  await put(node, 'x', 'new')
  assert.deepEqual([get(node, 'x'), get(node, 'y'), get(other, 'y')], ['new', null, null])
})
