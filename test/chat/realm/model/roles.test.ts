import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  directSystemGroups,
  inSystemGroup,
  NESTED_SYSTEM_GROUPS,
  ROLES,
  roleFlags,
  type SYSTEM_GROUPS,
} from '../../../../firmware/chat/realm/model/roles.ts'

const DAY = 86_400
const now = 100 * DAY
const period = { days: 3, now }

const people = {
  owner: { role: ROLES.owner, dateJoined: now },
  administrator: { role: ROLES.administrator, dateJoined: now },
  moderator: { role: ROLES.moderator, dateJoined: now },
  'full member': { role: ROLES.member, dateJoined: now - 3 * DAY },
  'new member': { role: ROLES.member, dateJoined: now - 3 * DAY + 1 },
  guest: { role: ROLES.guest, dateJoined: 0 },
}

// Contract section 2.1: each group with all who are in it.
const MEMBERSHIP: Record<(typeof SYSTEM_GROUPS)[number], (keyof typeof people)[]> = {
  'role:internet': ['owner', 'administrator', 'moderator', 'full member', 'new member', 'guest'],
  'role:everyone': ['owner', 'administrator', 'moderator', 'full member', 'new member', 'guest'],
  'role:members': ['owner', 'administrator', 'moderator', 'full member', 'new member'],
  'role:fullmembers': ['owner', 'administrator', 'moderator', 'full member'],
  'role:moderators': ['owner', 'administrator', 'moderator'],
  'role:administrators': ['owner', 'administrator'],
  'role:owners': ['owner'],
  'role:nobody': [],
}

describe('roles', () => {
  for (const [group, members] of Object.entries(MEMBERSHIP)) {
    it(`${group} holds ${members.join(', ') || 'no account'}`, () => {
      const found = Object.entries(people).filter(([, person]) => inSystemGroup(group as never, person, period))
      assert.deepEqual(
        found.map(([name]) => name),
        members,
      )
    })
  }

  it('a direct member of a group is in it and in all groups that contain it', () => {
    for (const person of Object.values(people)) {
      const direct = directSystemGroups(person, period)
      assert.notEqual(direct.length, 0)
      for (const [index, group] of NESTED_SYSTEM_GROUPS.entries()) {
        const innermost = Math.max(...direct.map((name) => NESTED_SYSTEM_GROUPS.indexOf(name as never)))
        assert.equal(inSystemGroup(group, person, period), index <= innermost)
      }
    }
  })

  it('a waiting period of no days makes every member a full one at once', () => {
    assert.equal(inSystemGroup('role:fullmembers', { role: ROLES.member, dateJoined: now }, { days: 0, now }), true)
  })

  it('flags say administrator of owners, too', () => {
    assert.deepEqual(roleFlags(ROLES.owner), { is_owner: true, is_admin: true, is_guest: false })
    assert.deepEqual(roleFlags(ROLES.administrator), { is_owner: false, is_admin: true, is_guest: false })
    assert.deepEqual(roleFlags(ROLES.moderator), { is_owner: false, is_admin: false, is_guest: false })
    assert.deepEqual(roleFlags(ROLES.guest), { is_owner: false, is_admin: false, is_guest: true })
  })
})
