import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BatchSizer } from '../../firmware/base/batch-sizer.ts'

const LIMITS = { targetMs: 10, sizeMin: 4, sizeMax: 100 }

function createRig() {
  let nowMs = 0
  const sizer = new BatchSizer(LIMITS, () => nowMs)
  const work = (tookMs: number): number => {
    sizer.start()
    nowMs += tookMs
    sizer.end()
    return sizer.size
  }
  const wait = (ms: number) => {
    nowMs += ms
  }
  return { sizer, work, wait }
}

test('batches grow while they are quick, by half at most, and up to the largest', () => {
  const { sizer, work } = createRig()
  assert.equal(sizer.size, 4)
  assert.deepEqual([work(0), work(1), work(8)], [6, 9, 11])
  for (let n = 0; n < 20; n++) work(0)
  assert.equal(sizer.size, 100)
})

test('a batch that took too long makes the next one smaller at once, down to the smallest', () => {
  const { work } = createRig()
  for (let n = 0; n < 20; n++) work(0)
  assert.deepEqual([work(20), work(25), work(1000)], [50, 20, 4])
})

test('batches settle where one takes the time that it may', () => {
  const { sizer, work } = createRig()
  for (let n = 0; n < 50; n++) work(2 + sizer.size * 0.2) // a cost of its own, and one for each
  assert.equal(sizer.size, 40)
})

test('the wait before a batch does not count, and of one that never started nothing is learned', () => {
  const { sizer, wait } = createRig()
  wait(1000)
  sizer.end()
  assert.equal(sizer.size, 4)
  sizer.start()
  wait(5)
  sizer.start()
  wait(5)
  sizer.end()
  assert.equal(sizer.size, 4)
})
