/** The checker itself: histories that one register can have had, and doctored ones. */

import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import { isLinearizable, type Operation } from './history.ts'

const read = (value: string | null, calledMs: number, answeredMs: number): Operation => ({
  ...{ kind: 'read', value, calledMs, answeredMs },
})
const write = (value: string, calledMs: number, answeredMs: number | null): Operation => ({
  ...{ kind: 'write', value, calledMs, answeredMs },
})

const histories: [string, boolean, Operation[]][] = [
  ['nothing', true, []],
  ['a write that is read', true, [write('a', 0, 1), read('a', 2, 3)]],
  ['what was there before', true, [read('before', 0, 1), write('a', 2, 3)]],
  ['a stale read', false, [write('a', 0, 1), read('before', 2, 3)]],
  ['a read of what nobody wrote', false, [write('a', 0, 1), read('b', 2, 3)]],
  ['either, while it is written', true, [write('a', 0, 9), read('before', 1, 2), read('a', 3, 4)]],
  ['back again, while it is written', false, [write('a', 0, 9), read('a', 1, 2), read('before', 3, 4)]],
  ['two writes at once, seen in one order', true, [write('a', 0, 9), write('b', 0, 9), read('a', 10, 11)]],
  [
    'two writes at once, seen in both orders',
    false,
    [write('a', 0, 9), write('b', 0, 9), read('a', 10, 11), read('b', 12, 13)],
  ],
  ['a write without an answer that was done late', true, [write('a', 0, null), read('before', 5, 6), read('a', 7, 8)]],
  ['a write without an answer that was never done', true, [write('a', 0, null), read('before', 5, 6)]],
  [
    'a write without an answer that was done and undone',
    false,
    [write('a', 0, null), read('a', 5, 6), read('before', 7, 8)],
  ],
  ['a write that was read before its call', false, [read('a', 0, 1), write('a', 2, 3)]],
  ['a lost write', false, [write('a', 0, 1), write('b', 2, 3), read('a', 4, 5)]],
]

for (const [what, expected, history] of histories)
  test(`${expected ? 'takes' : 'refuses'} ${what}`, () => {
    for (const order of [history, history.toReversed()]) assert.equal(isLinearizable(order, 'before'), expected)
  })

/** History of a real register: each operation takes effect at one moment, long before and after which clients may wait. */
const real = fc
  .array(
    fc.record({
      kind: fc.constantFrom('read' as const, 'write' as const),
      before: fc.integer({ min: 0, max: 60 }),
      after: fc.integer({ min: 0, max: 60 }),
      isAnswered: fc.boolean(),
    }),
    { maxLength: 60 },
  )
  .map((made) => {
    let value: string | null = null
    return made.map(({ kind, before, after, isAnswered }, n): Operation => {
      const atMs = 10 * n
      if (kind === 'write') value = `v${n}`
      const answeredMs = kind === 'write' && !isAnswered ? null : atMs + after
      return { kind, value, calledMs: atMs - before, answeredMs }
    })
  })

test('takes every history of a register', () => {
  fc.assert(fc.property(real, (history) => isLinearizable(history, null)))
})

test('refuses a history of a register into which a stale read was put', () => {
  const doctored = fc.tuple(real, fc.nat()).map(([made, at]) => {
    const history = made.map((operation) => ({
      ...operation,
      answeredMs: operation.answeredMs ?? operation.calledMs + 60,
    }))
    const end = Math.max(0, ...history.map(({ answeredMs, calledMs }) => Math.max(answeredMs ?? 0, calledMs)))
    const latest = [write('x', end + 1, end + 2), read('x', end + 3, end + 4)]
    const stale = history[at % Math.max(1, history.length)]?.value ?? null
    return [...history, ...latest, read(stale, end + 5, end + 6)]
  })
  fc.assert(fc.property(doctored, (history) => !isLinearizable(history, null)))
})
