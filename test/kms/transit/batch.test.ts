import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CofferError } from '../../../firmware/base/error.ts'
import { inBatches } from '../../../firmware/kms/transit/batch.ts'

test('a batch that is refused ends after the items that run', async () => {
  const other = Promise.withResolvers<object>()
  let hasEnded = false
  const batch = inBatches({ batch_input: [{ input: 'refused' }, { input: 'slow' }] }, async ({ input }) => {
    if (input === 'refused') throw new CofferError('busy', 'The pool is full')
    return other.promise
  }).finally(() => {
    hasEnded = true
  })
  const refusal = assert.rejects(batch, /The pool is full/)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(hasEnded, false)
  other.resolve({})
  await refusal
})
