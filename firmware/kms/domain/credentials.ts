/** Verifies user names and passphrases. Contract section 7.2. */

import { defined } from '../../base/defined.ts'
import { CofferError } from '../../base/error.ts'
import { ANYBODY, createFairQueue, type QueuePriority } from '../../base/fair-queue.ts'
import { wipe } from '../../base/secret.ts'
import type { Context } from './context.ts'
import { matchesPassphrase, type PassphraseDigest, renewDigest } from './passphrase.ts'
import { createRememberedCredentials, type RememberedCredentials } from './remembered-credentials.ts'
import type { Caller } from './roles.ts'
import type { User } from './user-record.ts'
import type { Users } from './users.ts'

const WAITING_MAX = 128 // bound of the queue; each derivation takes a tenth of a second

export class Credentials {
  readonly #context: Context
  readonly #users: Users
  readonly #remembered: RememberedCredentials
  readonly #turns = createFairQueue(WAITING_MAX)
  /** Running derivations by mac and queue priority. Equal simultaneous requests share one. */
  readonly #underWay = new Map<string, Promise<boolean>>()
  /** New digest for each renewed NetHSM digest. Requests that waited for the same derivation stay valid. */
  readonly #renewed = new WeakMap<PassphraseDigest, PassphraseDigest>()
  /** Digest for unknown users: a wrong user name then takes as long as a wrong passphrase. */
  readonly #nobody: PassphraseDigest

  constructor(context: Context, users: Users) {
    this.#context = context
    this.#users = users
    this.#remembered = createRememberedCredentials(context.random, context.monotonicMs)
    this.#nobody = { salt: context.random(16), digest: context.random(32), cost: context.passphraseCost }
  }

  /**
   * Answers at once for remembered credentials. Returns null for an unknown user or a wrong passphrase. Throws `unavailable` after a lock.
   * `passphrase` may be wiped when this returns.
   */
  verify(userId: string, passphrase: Uint8Array, place: QueuePriority = ANYBODY): Caller | Promise<Caller | null> {
    const user = this.#users.find(userId)
    const { salt } = user?.passphrase ?? this.#nobody
    const mac = this.#remembered.mac(userId, salt, passphrase)
    if (user !== undefined && this.#remembered.includes(userId, mac)) return defined(this.#users.caller(userId))
    return this.#verifySlowly(userId, user, mac, passphrase, place)
  }

  /** Returns null unless the credentials are remembered. `passphrase` may be wiped when this returns. */
  recall(userId: string, passphrase: Uint8Array): Caller | null {
    const user = this.#remembered.has(userId) ? this.#users.find(userId) : undefined
    if (user === undefined) return null
    const isRemembered = this.#remembered.includes(
      userId,
      this.#remembered.mac(userId, user.passphrase.salt, passphrase),
    )
    return isRemembered ? this.#users.caller(userId) : null
  }

  async #verifySlowly(
    userId: string,
    user: User | undefined,
    mac: string,
    passphrase: Uint8Array,
    place: QueuePriority,
  ): Promise<Caller | null> {
    const expected = user?.passphrase ?? this.#nobody
    const isRight = await this.#derive(userId, mac, expected, passphrase, place)
    this.#context.assertOpen()
    if (user === undefined || !isRight) return null
    const current = this.#users.find(userId)?.passphrase
    // The user was deleted, or the passphrase changed meanwhile.
    if (current === undefined || (current !== expected && current !== this.#renewed.get(expected))) return null
    return defined(this.#users.caller(userId))
  }

  close(): void {
    this.#remembered.close()
  }

  #derive(
    userId: string,
    mac: string,
    expected: PassphraseDigest,
    passphrase: Uint8Array,
    place: QueuePriority,
  ): Promise<boolean> {
    const key = `${mac} ${place.rank} ${place.prefix}`
    const shared = this.#underWay.get(key)
    if (shared !== undefined) return shared
    const copy = passphrase.slice()
    const derivation = this.#turns
      .run(place, async () => {
        this.#context.assertOpen()
        if (this.#remembered.includes(userId, mac)) return true // remembered while this request waited
        const { cost } = expected
        if (cost === 'hmac') return this.#renew(userId, expected, copy)
        const isRight = await matchesPassphrase({ ...expected, cost }, copy, this.#context.pool)
        this.#context.assertOpen()
        if (isRight && this.#users.find(userId)?.passphrase === expected) this.#remembered.add(userId, mac)
        return isRight
      })
      .finally(() => {
        wipe(copy)
        this.#underWay.delete(key)
      })
    this.#underWay.set(key, derivation)
    return derivation
  }

  /** Replaces the digest of a NetHSM by a scrypt digest and remembers the credentials. */
  async #renew(userId: string, expected: PassphraseDigest, passphrase: Uint8Array): Promise<boolean> {
    const { passphraseCost, pool, random, log } = this.#context
    const renewed = await renewDigest(expected, passphrase, passphraseCost, pool, random)
    if (renewed === null) return false
    this.#context.assertOpen()
    try {
      const held = await this.#users.renewDigest(userId, expected, renewed)
      if (held !== null) {
        this.#renewed.set(expected, held)
        this.#remembered.add(userId, this.#remembered.mac(userId, held.salt, passphrase))
      }
    } catch (error) {
      if (!(error instanceof CofferError)) throw error
      log.warning('users', `cannot renew the stored passphrase digest of ${userId}: ${error.message}`) // retried at the next login
    }
    return true
  }
}
