/** Order of the fair queue. Contract section 7.1. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { CofferError } from '../../firmware/base/error.ts'
import { createFairQueue, type QueuePriority } from '../../firmware/base/fair-queue.ts'

const busy = (error: unknown) => error instanceof CofferError && error.code === 'busy'
const stranger = (prefix: string): QueuePriority => ({ rank: 'unknown', prefix })

/** Tasks that end when they are told to; `begun` has their names in the order in which they had their turns. */
function createLine(waitingMax = 100) {
  const turns = createFairQueue(waitingMax)
  const begun: string[] = []
  let end = (): void => {}
  const ask = (place: QueuePriority, name: string = place.prefix): Promise<string> =>
    turns.run(place, () => {
      begun.push(name)
      return new Promise((resolve) => {
        end = () => resolve(name)
      })
    })
  const turn = async (count = 1) => {
    for (; count > 0; count--) {
      end()
      await new Promise(setImmediate)
    }
  }
  return { ask, begun, turn }
}

test('tasks run one at a time, and settle as they do', async () => {
  const turns = createFairQueue(10)
  let running = 0
  const task = async (n: number) => {
    assert.equal(++running, 1)
    await new Promise(setImmediate)
    running--
    if (n === 3) throw new Error('broken')
    return n
  }
  const outcomes = await Promise.allSettled([1, 2, 3, 4].map((n) => turns.run(stranger('a'), () => task(n))))
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : 'failed')),
    [1, 2, 'failed', 4],
  )
})

test('the console is next, then who is known, then strangers', async () => {
  const { ask, begun, turn } = createLine()
  for (const prefix of ['a', 'b', 'c']) void ask(stranger(prefix))
  void ask({ rank: 'known', prefix: 'known' })
  void ask({ rank: 'console', prefix: 'console' })
  await turn(5)
  assert.deepEqual(begun, ['a', 'console', 'known', 'b', 'c'])
})

test('a thousand from one prefix have every other turn while somebody else waits', async () => {
  const { ask, begun, turn } = createLine(2000)
  for (let n = 0; n < 1000; n++) void ask(stranger('many'))
  for (const name of ['1', '2', '3']) void ask(stranger('one'), name)
  await turn(8)
  assert.deepEqual(begun, ['many', '1', 'many', '2', 'many', '3', 'many', 'many', 'many'])
})

test('who comes anew is the next, however many prefixes keep coming back', async () => {
  const { ask, begun, turn } = createLine()
  const prefixes = Array.from({ length: 18 }, (_, n) => `attacker ${n}`)
  const again = async (prefix: string): Promise<void> => {
    await ask(stranger(prefix))
    void again(prefix)
  }
  for (const prefix of prefixes) void again(prefix)
  await turn(50)
  begun.length = 0
  void ask(stranger('owner'))
  await turn(3)
  assert.equal(begun.indexOf('owner'), 0)
})

test('when too many wait, the last of the prefix with the most is refused, in any order of arrival', async () => {
  const { ask, begun, turn } = createLine(4)
  const running = ask(stranger('a'), 'a0')
  const outcomes = ['a1', 'a2', 'a3', 'a4'].map((name) => ask(stranger('a'), name))
  const other = ask(stranger('b'))
  await assert.rejects(outcomes[3]!, busy)
  await assert.rejects(ask(stranger('a'), 'a5'), busy)
  const known = ask({ rank: 'known', prefix: 'c' })
  await assert.rejects(outcomes[2]!, busy)
  await turn(5)
  await Promise.all([running, other, known])
  assert.deepEqual(begun, ['a0', 'c', 'b', 'a1', 'a2'])
})
