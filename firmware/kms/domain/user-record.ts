/** The stored form of a user: a sealed record of JSON. */

import { base64 } from '@scure/base'
import { defined } from '../../base/defined.ts'
import type { PassphraseDigest } from './passphrase.ts'
import type { Role } from './roles.ts'

/** More than keys have: an Operator may use keys of many teams. Users are in memory; records of older versions may have more. */
export const USER_TAGS_MAX = 256

/** Immutable: each change creates a new object. */
export interface User {
  readonly id: string
  readonly realName: string
  readonly role: Role
  /** Sorted; Operators only. */
  readonly tags: readonly string[]
  readonly passphrase: PassphraseDigest
  readonly accessKeys: readonly AccessKey[]
  /** Revoked login tokens that have not expired yet, and a few that have. */
  readonly revocations: readonly Revocation[]
}

/** Without its secret, which is derived: tokens.ts. */
export interface AccessKey {
  readonly id: string
  readonly name: string
  /** Seconds since 1970. */
  readonly created: number
}

interface Revocation {
  readonly accessor: string
  /** Seconds since 1970. */
  readonly expires: number
  /** Accessor of the login token, or id of the access key, with which the token and its parents were made; missing for login tokens. */
  readonly root?: string
}

interface Stored {
  id: string
  realName: string
  role: Role
  tags: string[]
  salt: string
  digest: string
  /** Cost of scrypt; missing for the digest of a NetHSM. */
  N?: number
  r?: number
  p?: number
  /** Set if this digest replaced one of a NetHSM, for the same passphrase. */
  renewed?: true
  accessKeys?: AccessKey[]
  revoked?: [accessor: string, expires: number, root?: string][]
}

export function encodeUser({ id, realName, role, tags, passphrase, accessKeys, revocations }: User): Uint8Array {
  const { salt, digest, cost, isRenewed } = passphrase
  const stored: Stored = {
    id,
    realName,
    role,
    tags: [...tags],
    salt: base64.encode(salt),
    digest: base64.encode(digest),
    ...(cost !== 'hmac' && { N: cost.N, r: cost.r, p: cost.p }),
    ...(isRenewed && { renewed: true as const }),
    ...(accessKeys.length > 0 && { accessKeys: [...accessKeys] }),
    ...(revocations.length > 0 && { revoked: revocations.map(toStored) }),
  }
  return new TextEncoder().encode(JSON.stringify(stored))
}

const toStored = ({ accessor, expires, root }: Revocation): [string, number, string?] =>
  root === undefined ? [accessor, expires] : [accessor, expires, root]

export function decodeUser(value: Uint8Array): User {
  const stored = JSON.parse(new TextDecoder().decode(value)) as Stored
  const { id, realName, role, tags, salt, digest, N, r, p, renewed, accessKeys = [], revoked = [] } = stored
  const passphrase = {
    salt: base64.decode(salt),
    digest: base64.decode(digest),
    cost: N === undefined ? ('hmac' as const) : { N, r: defined(r), p: defined(p) },
    ...(renewed && { isRenewed: true as const }),
  }
  const revocations = revoked.map(([accessor, expires, root]) => ({
    accessor,
    expires,
    ...(root !== undefined && { root }),
  }))
  return { id, realName, role, tags, passphrase, accessKeys, revocations }
}
