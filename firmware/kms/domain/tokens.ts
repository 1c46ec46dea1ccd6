/**
 * Tokens of the transit wire. A login token is not stored: it is its claims and a MAC, whose input has the salt of the user's passphrase
 * and the generation of the records, so that a new passphrase, a user of the same name and a restore end it. The secret of an access key
 * is derived from its id; the user's record says that it exists. Contract section 7.9.
 */

import { createHmac } from 'node:crypto'
import { defined } from '../../base/defined.ts'
import { CofferError } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import { equalBytes } from '../../crypto/seal.ts'
import type { Context } from './context.ts'
import type { Caller } from './roles.ts'
import type { User } from './user-record.ts'
import type { Users } from './users.ts'

export const TOKEN_PURPOSE = 'coffer tokens'

export type LoginMethod = 'userpass' | 'approle' | 'token'

export interface Token {
  readonly text: string
  readonly userId: string
  readonly accessor: string
  /** Null for an access key. */
  readonly method: LoginMethod | null
  /** Seconds since 1970. */
  readonly issued: number
  /** In seconds; 0 for an access key, which does not expire. */
  readonly lifetime: number
  /** Accessors of the tokens that it was made with, the oldest first. */
  readonly parents: readonly string[]
  /** The access key that this token is, or that it was made with. */
  readonly accessKey: string | null
  readonly displayName: string
}

/** In the order of the claims. */
type Claims = readonly [
  format: 1,
  userId: string,
  method: LoginMethod,
  issued: number,
  lifetime: number,
  accessor: string,
  parents: readonly string[],
  accessKey: string | null,
  displayName: string,
]

const FORMAT = 1
const MAC_BYTES = 32
const ACCESSOR_BYTES = 12
const PREFIX = 's.'
const ACCESS_KEY = /^s\.(COFR[A-Z2-7]{16})([\w-]{43})$/
const TOKEN_CHARACTERS_MAX = 2000 // a user id of 257 characters and all parents fit
const PARENTS_MAX = 8

/** CI jobs revoke a token each; a hundred at once for ten hours. Each takes 27 bytes of the user's record. */
const REVOCATIONS_MAX = 1000

export class Tokens {
  readonly #context: Context
  readonly #users: Users
  readonly #key: Uint8Array

  /** Takes over the key. */
  constructor(context: Context, users: Users, key: Uint8Array) {
    this.#context = context
    this.#users = users
    this.#key = key
  }

  close(): void {
    wipe(this.#key)
  }

  /** `lifetime` is in seconds; a child ends with its parent at the latest. Throws `invalid` for too many parents in a row. */
  issue(caller: Caller, method: LoginMethod, lifetime: number, parent: Token | null = null, name = ''): Token {
    const { userId } = caller
    const user = this.#users.get(userId)
    if (!this.#users.isCurrent(caller))
      throw new CofferError('unauthenticated', 'The account was deleted, or its passphrase was changed')
    const issued = this.#context.nowSeconds()
    const parents = parent === null ? [] : [...parent.parents, parent.accessor]
    if (parents.length > PARENTS_MAX) throw new CofferError('invalid', 'too many generations of tokens')
    const left = parent === null || parent.lifetime === 0 ? lifetime : parent.issued + parent.lifetime - issued
    const accessor = Buffer.from(this.#context.random(ACCESSOR_BYTES)).toString('base64url')
    const accessKey = parent?.accessKey ?? null
    const claims: Claims = [
      FORMAT,
      userId,
      method,
      issued,
      Math.min(lifetime, left),
      accessor,
      parents,
      accessKey,
      name,
    ]
    const bytes = Buffer.from(JSON.stringify(claims))
    const text = PREFIX + Buffer.concat([bytes, this.#mac(user, bytes)]).toString('base64url')
    return tokenOf(text, claims)
  }

  /** The token of an access key, which is shown once. */
  accessKeyToken(id: string): string {
    return PREFIX + id + this.secretOf(id)
  }

  /** Throws `unavailable` after a lock, which has wiped the key. */
  secretOf(accessKeyId: string): string {
    this.#context.assertOpen()
    return createHmac('sha256', this.#key).update(`access key ${accessKeyId}`).digest('base64url')
  }

  /** Returns null unless the token is genuine and has not ended. */
  read(text: string): Token | null {
    const [, id, secret] = ACCESS_KEY.exec(text) ?? []
    const token = id !== undefined ? this.#readAccessKey(text, id, defined(secret)) : this.#readLogin(text)
    return token !== null && this.isCurrent(token) ? token : null
  }

  /** False once the token has expired or was revoked. A new passphrase is seen by `read` and by the caller's account. */
  isCurrent(token: Token): boolean {
    const { userId, issued, lifetime, accessor, parents, accessKey } = token
    const user = this.#users.find(userId)
    if (user === undefined) return false
    if (accessKey !== null && !user.accessKeys.some(({ id }) => id === accessKey)) return false
    if (token.method === null) return true
    const ended = [accessor, ...parents]
    if (user.revocations.some((revocation) => ended.includes(revocation.accessor))) return false
    return this.#context.nowSeconds() < issued + lifetime
  }

  /** Seconds until the token expires; 0 for an access key. */
  secondsLeft({ issued, lifetime }: Token): number {
    return lifetime === 0 ? 0 : Math.max(0, issued + lifetime - this.#context.nowSeconds())
  }

  /** Throws `tooManyAttempts` while the user has as many revocations as may be. */
  async revoke({ userId, accessor, issued, lifetime }: Token): Promise<void> {
    await this.#users.revise(userId, (user) => {
      const now = this.#context.nowSeconds()
      const revocations = user.revocations.filter(({ expires }) => expires > now)
      if (revocations.length >= REVOCATIONS_MAX)
        throw new CofferError(
          'tooManyAttempts',
          `A user may have ${REVOCATIONS_MAX} revoked tokens that have not expired`,
        )
      return { ...user, revocations: [...revocations, { accessor, expires: issued + lifetime }] }
    })
  }

  #readAccessKey(text: string, id: string, secret: string): Token | null {
    const isRight = equalBytes(Buffer.from(secret), Buffer.from(this.secretOf(id)))
    const user = this.#users.ownerOf(id)
    const key = user?.accessKeys.find((each) => each.id === id)
    if (!isRight || user === undefined || key === undefined) return null
    const { created: issued, name: displayName } = key
    return {
      text,
      userId: user.id,
      accessor: id,
      method: null,
      issued,
      lifetime: 0,
      parents: [],
      accessKey: id,
      displayName,
    }
  }

  #readLogin(text: string): Token | null {
    if (!text.startsWith(PREFIX) || text.length > TOKEN_CHARACTERS_MAX) return null
    const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url')
    if (bytes.length <= MAC_BYTES || PREFIX + bytes.toString('base64url') !== text) return null
    const [stated, mac] = [bytes.subarray(0, -MAC_BYTES), bytes.subarray(-MAC_BYTES)]
    const claims = claimsOf(stated)
    const user = claims === null ? undefined : this.#users.find(claims[1])
    return claims !== null && user !== undefined && equalBytes(mac, this.#mac(user, stated))
      ? tokenOf(text, claims)
      : null
  }

  #mac(user: User, claims: Uint8Array): Uint8Array {
    this.#context.assertOpen()
    return createHmac('sha256', this.#key)
      .update(`token ${this.#context.records.generation}\0`)
      .update(user.passphrase.salt)
      .update(claims)
      .digest()
  }
}

/** Reads claims before their MAC is checked: whatever they are, this returns null or an array with a user id. */
function claimsOf(bytes: Uint8Array): Claims | null {
  try {
    const claims = JSON.parse(new TextDecoder().decode(bytes)) as unknown
    const isOurs = Array.isArray(claims) && claims[0] === FORMAT && typeof claims[1] === 'string'
    return isOurs ? (claims as unknown as Claims) : null
  } catch {
    return null
  }
}

function tokenOf(text: string, claims: Claims): Token {
  const [, userId, method, issued, lifetime, accessor, parents, accessKey, displayName] = claims
  return { text, userId, accessor, method, issued, lifetime, parents, accessKey, displayName }
}
