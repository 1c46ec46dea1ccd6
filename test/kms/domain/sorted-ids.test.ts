/** Sorted ids against an array that is sorted anew each time. */

import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { SortedIds } from '../../../firmware/kms/domain/sorted-ids.ts'

const someId = fc.string({ unit: fc.constantFrom('a', 'B', '~', '-', '.', '0', '_'), minLength: 1, maxLength: 4 })
const byBytes = (ids: Iterable<string>) => [...ids].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))

test('stays in byte order through insertions and removals, and finds prefixes and pages', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(someId),
      fc.array(fc.record({ id: someId, add: fc.boolean() })),
      someId,
      fc.option(someId, { nil: '' }),
      fc.integer({ min: 1, max: 5 }),
      (start, steps, prefix, after, limit) => {
        const model = new Set(start)
        const ids = new SortedIds(start)
        for (const { id, add } of steps) {
          if (!add) ids.remove(id)
          else if (!model.has(id)) ids.insert(id)
          if (add) model.add(id)
          else model.delete(id)
        }
        assert.deepEqual(ids.startingWith(''), byBytes(model))
        assert.deepEqual(
          ids.startingWith(prefix),
          byBytes(model).filter((id) => id.startsWith(prefix)),
        )
        assert.deepEqual(
          ids.after(after, prefix, limit),
          byBytes(model)
            .filter((id) => id.startsWith(prefix) && Buffer.compare(Buffer.from(id), Buffer.from(after)) > 0)
            .slice(0, limit),
        )
      },
    ),
  )
})
