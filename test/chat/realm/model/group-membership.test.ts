import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createCollection } from '../../../../firmware/chat/realm/model/collection.ts'
import { closeGroups } from '../../../../firmware/chat/realm/model/group-closure.ts'
import {
  type GroupNode,
  type Groups,
  holds,
  inGroup,
  isAmong,
  memberTest,
  type Person,
} from '../../../../firmware/chat/realm/model/group-membership.ts'
import { ROLES, SYSTEM_GROUPS } from '../../../../firmware/chat/realm/model/roles.ts'
import {
  CREATE_POLICY,
  policyOf,
  WILDCARD_MENTION_POLICY,
} from '../../../../firmware/chat/realm/permissions/group-policies.ts'

const idOf = (name: string) => SYSTEM_GROUPS.indexOf(name as never) + 1
const owner: Person = { id: 1, role: ROLES.owner, dateJoined: 0 }
const moderator: Person = { id: 3, role: ROLES.moderator, dateJoined: 0 }
const member: Person = { id: 4, role: ROLES.member, dateJoined: 0 }
const guest: Person = { id: 5, role: ROLES.guest, dateJoined: 0 }
const people = [owner, moderator, member, guest]

/** The system groups as 1 to 8, and others with ids from 10 on. */
function groupsWith(others: Record<number, { members?: number[]; subgroups?: number[] }>): Groups {
  const nodes = new Map<number, GroupNode>(
    SYSTEM_GROUPS.map((name) => [idOf(name), { name, isSystem: true, members: [], subgroups: [] }]),
  )
  for (const [id, { members = [], subgroups = [] }] of Object.entries(others)) {
    nodes.set(Number(id), { name: `group ${id}`, isSystem: false, members, subgroups })
  }
  const collection = createCollection<GroupNode & { id: number }>()
  const closure = closeGroups(collection)
  for (const [id, node] of nodes) collection.set(id, { id, ...node })
  return { find: (id) => nodes.get(id), systemGroupId: idOf, closure, period: () => ({ days: 0, now: 1 }) }
}

describe('membership of groups', () => {
  it('reaches through subgroups, roles among them', () => {
    const groups = groupsWith({ 10: { members: [5], subgroups: [11] }, 11: { subgroups: [idOf('role:moderators')] } })
    assert.deepEqual(
      people.filter((person) => inGroup(groups, 10, person)),
      [owner, moderator, guest],
    )
  })

  it('ends in a cycle, and holds nobody where there is no group', () => {
    const groups = groupsWith({ 10: { subgroups: [11] }, 11: { subgroups: [10, 99] } })
    assert.equal(inGroup(groups, 10, member), false)
    assert.equal(inGroup(groups, 98, member), false)
  })

  it('gives a right to the users and groups that a value names', () => {
    const groups = groupsWith({ 10: { members: [4] } })
    const value = { direct_members: [3], direct_subgroups: [10] }
    assert.deepEqual(
      people.filter((person) => isAmong(groups, value, person)),
      [moderator, member],
    )
  })

  it('gives guests nothing where there is no room for everyone, also inside the group', () => {
    const groups = groupsWith({ 10: { members: [5] } })
    assert.equal(holds(groups, { everyone: false }, 10, guest), false)
    assert.equal(holds(groups, { everyone: false }, { direct_members: [5], direct_subgroups: [] }, guest), false)
    assert.equal(holds(groups, { everyone: true }, 10, guest), true)
  })

  it('is what following every path by hand gives', () => {
    const someGroups = fc.array(
      fc.record({
        members: fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 2 }),
        subgroups: fc.array(fc.integer({ min: 0, max: 7 }), { maxLength: 3 }),
      }),
      { minLength: 8, maxLength: 8 },
    )
    fc.assert(
      fc.property(someGroups, (list) => {
        const groups = groupsWith(
          Object.fromEntries(
            list.map(({ members, subgroups }, id) => [id + 10, { members, subgroups: subgroups.map((s) => s + 10) }]),
          ),
        )
        const byHand = (id: number, path: number[]): boolean =>
          list[id]!.members.includes(member.id) ||
          list[id]!.subgroups.some((sub) => !path.includes(sub) && byHand(sub, [...path, sub]))
        for (const id of list.keys()) {
          assert.equal(inGroup(groups, id + 10, member), byHand(id, [id]))
          assert.equal(memberTest(groups, id + 10)(member), byHand(id, [id]))
        }
      }),
    )
  })
})

describe('deprecated policies', () => {
  const groups = groupsWith({ 10: { members: [3] }, 11: { members: [4] }, 12: { members: [5] } })
  const bounds = { everyone: true }

  it('say the number of a system group', () => {
    const created = SYSTEM_GROUPS.map((name) => policyOf(CREATE_POLICY, groups, bounds, idOf(name), people))
    assert.deepEqual(created, [1, 1, 1, 3, 4, 2, 7, 6])
    const mentioned = SYSTEM_GROUPS.map((name) => policyOf(WILDCARD_MENTION_POLICY, groups, bounds, idOf(name), people))
    assert.deepEqual(mentioned, [1, 1, 2, 3, 7, 5, 5, 6])
  })

  it('say that of the narrowest group around any other', () => {
    assert.equal(policyOf(CREATE_POLICY, groups, bounds, 10, people), 4)
    assert.equal(policyOf(CREATE_POLICY, groups, bounds, { direct_members: [1], direct_subgroups: [10] }, people), 4)
    assert.equal(policyOf(WILDCARD_MENTION_POLICY, groups, bounds, 11, people), 3)
    assert.equal(policyOf(WILDCARD_MENTION_POLICY, groups, bounds, 12, people), 1)
    assert.equal(policyOf(CREATE_POLICY, groups, { everyone: false }, 12, people), 6)
  })
})
