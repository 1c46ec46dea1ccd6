/**
 * Tokens of the transit wire. A login token is not stored: it is its claims and a MAC, whose input has the salt of the user's passphrase
 * and the generation of the records, so that a new passphrase, a user of the same name and a restore end it. The secret of an access key
 * is derived from its id; the user's record says that it exists. Contract section 7.9.
 */

import { createHmac } from 'node:crypto'
import { base64urlnopad } from '@scure/base'
import { encodeBase64Url, readBase64Url } from '../../base/base64.ts'
import { defined } from '../../base/defined.ts'
import { CofferError } from '../../base/error.ts'
import { newSecret, wipe } from '../../base/secret.ts'
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

/** CI jobs revoke a token each; a hundred at once for ten hours. Each takes 27 bytes of the user's record, or 46. */
const REVOCATIONS_MAX = 1000

/** Tokens that were made of others have half of it, since their number needs no passphrase: a stolen token leaves the user the rest. */
const CHILD_REVOCATIONS_MAX = REVOCATIONS_MAX / 2

/** Each generation leaves these to the one before, so that a stolen token can be revoked however many were made with it. */
const GENERATION_REVOCATIONS = 50

/** Revocations of tokens that have expired by a clock that may be put back, where there is room. */
const EXPIRED_KEPT = 100

/** Seconds. Clocks of a cluster's nodes differ; a token of a later time is from before the clock was put back, and would live too long. */
const CLOCK_DIFFERENCE = 3600

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
    const stated = new TextEncoder().encode(JSON.stringify(claims))
    const bytes = newSecret(stated.length + MAC_BYTES)
    try {
      bytes.set(stated)
      bytes.set(this.#mac(user, stated), stated.length)
      return tokenOf(PREFIX + encodeBase64Url(bytes), claims)
    } finally {
      wipe(bytes)
    }
  }

  /** Secret and token of an access key, which are shown once. Throws `unavailable` after a lock, which has wiped the key. */
  accessKey(id: string): { secret: string; token: string } {
    const bytes = this.#secretOf(id)
    try {
      const secret = base64urlnopad.encode(bytes)
      return { secret, token: PREFIX + id + secret }
    } finally {
      wipe(bytes)
    }
  }

  /** Not as text: Node makes that in memory of the C library, which nothing wipes. */
  #secretOf(accessKeyId: string): Uint8Array {
    this.#context.assertOpen()
    return createHmac('sha256', this.#key).update(`access key ${accessKeyId}`).digest()
  }

  /** Returns null unless the token is genuine and has not ended. */
  read(text: string): Token | null {
    const [, id, secret] = ACCESS_KEY.exec(text) ?? []
    const token = id !== undefined ? this.#readAccessKey(text, id, defined(secret)) : this.#readLogin(text)
    return token !== null && this.isCurrent(token) ? token : null
  }

  /** False once the token has expired or was revoked, and for one from a time that is still to come. A new passphrase is seen by `read` and by the caller's account. */
  isCurrent(token: Token): boolean {
    const { userId, issued, lifetime, accessor, parents, accessKey } = token
    const user = this.#users.find(userId)
    if (user === undefined) return false
    if (accessKey !== null && !user.accessKeys.some(({ id }) => id === accessKey)) return false
    if (token.method === null) return true
    const ended = [accessor, ...parents]
    if (user.revocations.some((revocation) => ended.includes(revocation.accessor))) return false
    const age = this.#context.nowSeconds() - issued
    return age >= -CLOCK_DIFFERENCE && age < lifetime
  }

  /** Seconds until the token expires; 0 for an access key. */
  secondsLeft({ issued, lifetime }: Token): number {
    return lifetime === 0 ? 0 : Math.max(0, issued + lifetime - this.#context.nowSeconds())
  }

  /** Throws `tooManyAttempts` while the user has as many revocations as may be. */
  async revoke({ userId, accessor, issued, lifetime, parents }: Token): Promise<void> {
    const [root] = parents
    await this.#users.revise(userId, (user) => {
      const now = this.#context.nowSeconds()
      const current = user.revocations.filter(({ expires }) => expires > now)
      const revocations = current.filter((other) => other.root !== accessor) // they end with this one
      expectRevocable(revocations, parents.length)
      const revocation = { accessor, expires: issued + lifetime, ...(root !== undefined && { root }) }
      const expired = user.revocations.filter(({ expires }) => expires <= now)
      const room = Math.min(EXPIRED_KEPT, REVOCATIONS_MAX - 1 - revocations.length)
      const kept = expired.slice(Math.max(0, expired.length - room))
      return { ...user, revocations: [...kept, ...revocations, revocation] }
    })
  }

  #readAccessKey(text: string, id: string, secret: string): Token | null {
    const isRight = this.#isSecretOf(id, secret)
    const user = this.#users.ownerOf(id)
    const key = user?.accessKeys.find((each) => each.id === id)
    if (!isRight || user === undefined || key === undefined) return null
    // Not the id that was read: it is a slice of the text, and would keep all of it where it is kept, such as in the audit log.
    const { id: accessor, created: issued, name: displayName } = key
    return {
      text,
      userId: user.id,
      accessor,
      method: null,
      issued,
      lifetime: 0,
      parents: [],
      accessKey: accessor,
      displayName,
    }
  }

  #isSecretOf(id: string, secret: string): boolean {
    const [shown, right] = [decodeSecret(secret), this.#secretOf(id)]
    const isRight = shown !== null && equalBytes(shown, right)
    if (shown !== null) wipe(shown)
    wipe(right)
    return isRight
  }

  #readLogin(text: string): Token | null {
    if (!text.startsWith(PREFIX) || text.length > TOKEN_CHARACTERS_MAX) return null
    const bytes = readBase64Url(text.slice(PREFIX.length))
    if (bytes === null) return null
    try {
      const claims = this.#claimsIn(bytes)
      return claims && tokenOf(text, claims)
    } finally {
      wipe(bytes)
    }
  }

  /** Returns null unless their MAC is right. */
  #claimsIn(bytes: Uint8Array): Claims | null {
    const [stated, mac] = [bytes.subarray(0, -MAC_BYTES), bytes.subarray(-MAC_BYTES)]
    const claims = claimsOf(stated)
    const user = claims === null ? undefined : this.#users.find(claims[1])
    return user !== undefined && equalBytes(mac, this.#mac(user, stated)) ? claims : null
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

/** Returns null for other texts than those that are shown: the last character has two bits that no byte has. */
function decodeSecret(secret: string): Uint8Array | null {
  try {
    return base64urlnopad.decode(secret)
  } catch {
    return null
  }
}

/** `generation`: 0 for a login token. */
function expectRevocable(revocations: User['revocations'], generation: number): void {
  const children = revocations.filter(({ root }) => root !== undefined).length
  const childrenMax = CHILD_REVOCATIONS_MAX - (generation - 1) * GENERATION_REVOCATIONS
  if (revocations.length < REVOCATIONS_MAX && (generation === 0 || children < childrenMax)) return
  throw new CofferError(
    'tooManyAttempts',
    `A user may have ${REVOCATIONS_MAX} revoked tokens that have not expired, half of them made of other tokens`,
  )
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
