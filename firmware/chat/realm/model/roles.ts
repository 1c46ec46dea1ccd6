/** Roles of accounts, and the system groups derived from them. Contract section 2.1. */

export const ROLES = { owner: 100, administrator: 200, moderator: 300, member: 400, guest: 600 } as const
export type Role = (typeof ROLES)[keyof typeof ROLES]

export const isRole = (value: number): value is Role => (Object.values(ROLES) as number[]).includes(value)

/** True if `role` is at least as high as `least`. Higher roles have smaller numbers. */
export const atLeast = (role: Role, least: Role): boolean => role <= least

export const roleFlags = (role: Role) => ({
  is_owner: role === ROLES.owner,
  is_admin: atLeast(role, ROLES.administrator),
  is_guest: role === ROLES.guest,
})

/** From widest to narrowest: each group is a subgroup of the one before it. `role:nobody` is not nested. */
export const NESTED_SYSTEM_GROUPS = [
  'role:internet',
  'role:everyone',
  'role:members',
  'role:fullmembers',
  'role:moderators',
  'role:administrators',
  'role:owners',
] as const
export const SYSTEM_GROUPS = [...NESTED_SYSTEM_GROUPS, 'role:nobody'] as const
export type SystemGroupName = (typeof SYSTEM_GROUPS)[number]

export const SYSTEM_GROUP_DESCRIPTIONS: Record<SystemGroupName, string> = {
  'role:internet': 'Everyone on the Internet',
  'role:everyone': 'Everyone in this organization, including guests',
  'role:members': 'Members of this organization, not including guests',
  'role:fullmembers': 'Members of this organization, not including new accounts and guests',
  'role:moderators': 'Moderators, administrators and owners of this organization',
  'role:administrators': 'Administrators of this organization, including owners',
  'role:owners': 'Owners of this organization',
  'role:nobody': 'Nobody',
}

export interface Seniority {
  role: Role
  /** Unix time in seconds. */
  dateJoined: number
}

export interface WaitingPeriod {
  /** The realm's `waiting_period_threshold`. */
  days: number
  /** Unix time in seconds. */
  now: number
}

const DAY_SECONDS = 86_400

function isFullMember({ role, dateJoined }: Seniority, { days, now }: WaitingPeriod): boolean {
  if (role === ROLES.guest) return false
  return role !== ROLES.member || now - dateJoined >= days * DAY_SECONDS
}

/** True if the waiting period of a member ended after `from` and not after `to`. Without a period there is nothing to wait for. */
export function becameFullMember({ role, dateJoined }: Seniority, days: number, from: number, to: number): boolean {
  const end = dateJoined + days * DAY_SECONDS
  return role === ROLES.member && days > 0 && from < end && end <= to
}

export function inSystemGroup(group: SystemGroupName, account: Seniority, period: WaitingPeriod): boolean {
  switch (group) {
    case 'role:internet':
    case 'role:everyone':
      return true
    case 'role:members':
      return account.role !== ROLES.guest
    case 'role:fullmembers':
      return isFullMember(account, period)
    case 'role:moderators':
      return atLeast(account.role, ROLES.moderator)
    case 'role:administrators':
      return atLeast(account.role, ROLES.administrator)
    case 'role:owners':
      return account.role === ROLES.owner
    case 'role:nobody':
      return false
  }
}

/** The system groups that list `account` as a direct member. A full member is also listed in `role:members`. */
export function directSystemGroups(account: Seniority, period: WaitingPeriod): SystemGroupName[] {
  switch (account.role) {
    case ROLES.owner:
      return ['role:owners']
    case ROLES.administrator:
      return ['role:administrators']
    case ROLES.moderator:
      return ['role:moderators']
    case ROLES.member:
      return isFullMember(account, period) ? ['role:members', 'role:fullmembers'] : ['role:members']
    case ROLES.guest:
      return ['role:everyone']
  }
}
