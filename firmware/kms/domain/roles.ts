/** Roles of users, and who makes a request. Contract sections 1.2 and 3.7. */

import type { Namespace } from './identifiers.ts'

export const ROLES = ['Administrator', 'Operator', 'Metrics', 'Backup'] as const
export type Role = (typeof ROLES)[number]

export interface Caller {
  /** Full user id, `name` or `namespace~name`. */
  userId: string
  namespace: Namespace
  role: Role
}
