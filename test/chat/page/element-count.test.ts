/** Which messages a list keeps: firmware/chat-page/model/element-count.ts, which needs no browser. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isHeavy, join } from '../../../firmware/chat-page/model/element-count.ts'
import type { ReceivedMessage } from '../../../firmware/chat-page/model/types.ts'

const ELEMENTS = 10_000
const MAX = 300
const ROW = 16

const message = (id: number, elements: number) =>
  ({ id, content: '<b>x</b>'.repeat(elements), reactions: [], submessages: [] }) as unknown as ReceivedMessage
const idsOf = (all: readonly ReceivedMessage[]) => all.map(({ id }) => id)
const sizes = fc.array(fc.oneof(fc.nat(20), fc.nat(3000)), { maxLength: 320 })

test('what is kept fits, has no gap, and has some of both sides of the join', () => {
  fc.assert(
    fc.property(sizes, sizes, (before, after) => {
      const known = before.map((elements, at) => message(-at, elements))
      const fresh = after.map((elements, at) => message(at + 1, elements))
      const kept = join(known, fresh, { max: MAX, elements: ELEMENTS })
      assert.deepEqual(idsOf(kept.known), idsOf(known.slice(0, kept.known.length)))
      assert.deepEqual(idsOf(kept.fresh), idsOf(fresh.slice(0, kept.fresh.length)))
      assert.equal(kept.known.length > 0, known.length > 0)
      assert.equal(kept.fresh.length > 0, fresh.length > 0)
      const all = [...kept.known, ...kept.fresh]
      const shown = all.reduce((sum, one) => sum + ROW + (isHeavy(one) ? 0 : one.content.length / 8), 0)
      assert.ok(shown <= ELEMENTS + 2 * 1500, `${shown} elements`)
      if (fresh.length <= 100) assert.ok(all.length <= MAX)
    }),
  )
})

test('light messages are all kept up to the greatest number, and a heavy one is folded', () => {
  const light = Array.from({ length: 400 }, (_, at) => message(at, 3))
  const kept = join(light.slice(0, 300), light.slice(300), { max: MAX, elements: ELEMENTS })
  assert.deepEqual([kept.known.length, kept.fresh.length], [200, 100])
  assert.equal(isHeavy(message(1, 1500)), false)
  assert.equal(isHeavy(message(1, 1501)), true)
})
