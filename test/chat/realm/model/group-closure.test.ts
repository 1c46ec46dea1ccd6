/** Groups above an account, while groups change: as if each were followed anew. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createCollection } from '../../../../firmware/chat/realm/model/collection.ts'
import { closeGroups } from '../../../../firmware/chat/realm/model/group-closure.ts'

interface Node {
  readonly id: number
  readonly isSystem: boolean
  readonly members: readonly number[]
  readonly subgroups: readonly number[]
}

const IDS = [0, 1, 2, 3, 4, 5]
const subset = fc.subarray(IDS, { maxLength: 3 })
const change = fc.record({
  id: fc.constantFrom(...IDS),
  node: fc.option(fc.record({ isSystem: fc.boolean(), members: subset, subgroups: subset })),
})

test('is that of the groups as they are, after each change', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 20 }), (changes) => {
      const groups = createCollection<Node>()
      const closure = closeGroups(groups)
      const people = () => [...groups.all()].filter(({ isSystem }) => !isSystem)
      const above = (id: number, seen: Set<number>): Set<number> => {
        for (const parent of people())
          if (parent.subgroups.includes(id) && !seen.has(parent.id)) above(parent.id, seen.add(parent.id))
        return seen
      }
      const sorted = (ids: Iterable<number>) => [...ids].sort((a, b) => a - b)
      for (const { id, node } of changes) {
        groups.set(id, node === null ? undefined : { id, ...node })
        for (const one of IDS) {
          const direct = people()
            .filter(({ members }) => members.includes(one))
            .map(({ id }) => id)
          const all = new Set([...direct, ...direct.flatMap((group) => [...above(group, new Set())])])
          assert.deepEqual(sorted(closure.directGroups(one)), sorted(direct))
          assert.deepEqual(sorted(closure.groupsOfUser(one)), sorted(all))
          assert.deepEqual(sorted(closure.groupsAbove(one)), sorted(above(one, new Set())))
        }
      }
    }),
  )
})
