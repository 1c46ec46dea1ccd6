/** The stored form of a user: a sealed record of JSON. */

import { base64 } from '@scure/base'
import { defined } from '../../base/defined.ts'
import type { PassphraseDigest } from './passphrase.ts'
import type { Role } from './roles.ts'

/** Immutable: each change creates a new object. */
export interface User {
  readonly id: string
  readonly realName: string
  readonly role: Role
  /** Sorted; Operators only. */
  readonly tags: readonly string[]
  readonly passphrase: PassphraseDigest
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
}

export function encodeUser({ id, realName, role, tags, passphrase }: User): Uint8Array {
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
  }
  return new TextEncoder().encode(JSON.stringify(stored))
}

export function decodeUser(value: Uint8Array): User {
  const { id, realName, role, tags, salt, digest, N, r, p, renewed } = JSON.parse(
    new TextDecoder().decode(value),
  ) as Stored
  const passphrase = {
    salt: base64.decode(salt),
    digest: base64.decode(digest),
    cost: N === undefined ? ('hmac' as const) : { N, r: defined(r), p: defined(p) },
    ...(renewed && { isRenewed: true as const }),
  }
  return { id, realName, role, tags, passphrase }
}
