/** The words every room shares: states, roles, identifiers. Contract sections 1.2, 2 and 3.7. */

export const STATES = ['Unprovisioned', 'Locked', 'Operational', 'Failed'] as const
export type State = (typeof STATES)[number]

export const ROLES = ['Administrator', 'Operator', 'Metrics', 'Backup'] as const
export type Role = (typeof ROLES)[number]

/** Which members answers have where the reference and the original API name the same differently. Contract 5, row 23. */
export const MEMBERS = ['both', 'reference', 'original'] as const
export type Members = (typeof MEMBERS)[number]

/** An ID: key, tag, namespace or local part of a user id; 1 to 128 characters. Contract 1.2. */
export const ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/

/** A namespace ID, or `''` for root: users and keys outside any namespace. */
export type Namespace = string

/** Who makes an authenticated request. */
export interface Caller {
  /** Full user id, `name` or `namespace~name`. */
  userId: string
  namespace: Namespace
  role: Role
}
