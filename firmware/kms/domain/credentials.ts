/** Credentials: who a user name and a passphrase belong to, remembered for a short time. Contract section 7.2. */

import { hash } from 'node:crypto'
import { CofferError } from '../../base/error.ts'
import { ANYBODY, createFairQueue, type Place } from '../../base/fair-queue.ts'
import { wipe } from '../../base/secret.ts'
import type { Context } from './context.ts'
import { matchesPassphrase, type PassphraseDigest, renewDigest } from './passphrase.ts'
import type { Caller } from './roles.ts'
import type { User } from './user-record.ts'
import type { Users } from './users.ts'

const REMEMBERED_MS = 300_000 // after the last use: clients send credentials with each request
const REMEMBERED_MS_MAX = 12 * 3_600_000 // since the last derivation: one in a working day waits beside those of unauthenticated clients
const RENEWED_MS = 60_000 // from here on a use extends it: each request would be too often
const REMEMBERED_MAX = 10_000 // users; about 3 MB
const WAITING_MAX = 128 // for one another at a tenth of a second each

const KEY_BYTES = 32
const scratch = Buffer.alloc(1024) // every request comes with credentials; wiped after each use

interface Remembered {
  mac: string
  derivedMs: number
  usedMs: number
}

export class Credentials {
  readonly #context: Context
  readonly #users: Users
  readonly #key: Uint8Array
  /** By user id, least recently used first. */
  readonly #remembered = new Map<string, Remembered>()
  readonly #turns = createFairQueue(WAITING_MAX)
  /** Derivations under way, by mac and place: equal requests at the same time share one. */
  readonly #underWay = new Map<string, Promise<boolean>>()
  /** What took the place of a digest of a NetHSM's: who waited for the same derivation is not turned away. */
  readonly #renewed = new WeakMap<PassphraseDigest, PassphraseDigest>()
  /** Stands in for an unknown user, so that finding out takes as long as for a wrong passphrase. */
  readonly #nobody: PassphraseDigest

  constructor(context: Context, users: Users) {
    this.#context = context
    this.#users = users
    this.#key = context.random(KEY_BYTES)
    this.#nobody = { salt: context.random(16), digest: context.random(32), cost: context.passphraseCost }
  }

  /**
   * At once when they are remembered. Null when the user is unknown or the passphrase wrong. Throws `unavailable` when a
   * lock came between. The passphrase has been read when this returns.
   */
  verify(userId: string, passphrase: Uint8Array, place: Place = ANYBODY): Caller | Promise<Caller | null> {
    const user = this.#users.find(userId)
    const mac = this.#mac(userId, user?.passphrase ?? this.#nobody, passphrase)
    if (user !== undefined && this.#isRemembered(userId, mac)) return this.#users.caller(userId)!
    return this.#verifySlowly(userId, user, mac, passphrase, place)
  }

  /** Null unless they are remembered. The passphrase has been read when this returns. */
  recall(userId: string, passphrase: Uint8Array): Caller | null {
    const user = this.#remembered.has(userId) ? this.#users.find(userId) : undefined
    if (user === undefined) return null
    const isRemembered = this.#isRemembered(userId, this.#mac(userId, user.passphrase, passphrase))
    return isRemembered ? this.#users.caller(userId) : null
  }

  async #verifySlowly(
    userId: string,
    user: User | undefined,
    mac: string,
    passphrase: Uint8Array,
    place: Place,
  ): Promise<Caller | null> {
    const expected = user?.passphrase ?? this.#nobody
    const isRight = await this.#derive(userId, mac, expected, passphrase, place)
    this.#context.assertOpen()
    if (user === undefined || !isRight) return null
    const current = this.#users.find(userId)?.passphrase
    // Deleted or given another passphrase meanwhile.
    if (current === undefined || (current !== expected && current !== this.#renewed.get(expected))) return null
    return this.#users.caller(userId)
  }

  close(): void {
    wipe(this.#key)
    this.#remembered.clear()
  }

  /**
   * A hash with the key in front, in hex. Unlike HMAC it could be continued by who is shown it, and nobody is; nor can
   * anybody without the key make one that begins like another. The salt changes with every passphrase set, so an older
   * one is forgotten with it. User ids hold no zero byte and salts have one length: no two triples give the same bytes.
   */
  #mac(userId: string, { salt }: PassphraseDigest, passphrase: Uint8Array): string {
    const idAt = KEY_BYTES
    const saltAt = idAt + userId.length + 1
    const passphraseAt = saltAt + salt.length
    const end = passphraseAt + passphrase.length
    const keyed = end <= scratch.length ? scratch : Buffer.alloc(end)
    keyed.set(this.#key)
    keyed.write(`${userId}\0`, idAt, 'latin1')
    keyed.set(salt, saltAt)
    keyed.set(passphrase, passphraseAt)
    const mac = hash('sha256', keyed.subarray(0, end), 'hex')
    keyed.fill(0, 0, end)
    return mac
  }

  /** And extends that. */
  #isRemembered(userId: string, mac: string): boolean {
    const remembered = this.#remembered.get(userId)
    if (remembered?.mac !== mac) return false
    const nowMs = this.#context.monotonicMs()
    if (isForgotten(remembered, nowMs)) return false
    if (nowMs - remembered.usedMs > RENEWED_MS) {
      remembered.usedMs = nowMs
      this.#remembered.delete(userId)
      this.#remembered.set(userId, remembered)
    }
    return true
  }

  #remember(userId: string, mac: string): void {
    const nowMs = this.#context.monotonicMs()
    this.#remembered.delete(userId)
    for (const [oldest, remembered] of this.#remembered) {
      if (!isForgotten(remembered, nowMs) && this.#remembered.size < REMEMBERED_MAX) break
      this.#remembered.delete(oldest)
    }
    this.#remembered.set(userId, { mac, derivedMs: nowMs, usedMs: nowMs })
  }

  #derive(
    userId: string,
    mac: string,
    expected: PassphraseDigest,
    passphrase: Uint8Array,
    place: Place,
  ): Promise<boolean> {
    const key = `${mac} ${place.rank} ${place.prefix}`
    const shared = this.#underWay.get(key)
    if (shared !== undefined) return shared
    const copy = passphrase.slice()
    const derivation = this.#turns
      .run(place, async () => {
        this.#context.assertOpen()
        if (this.#isRemembered(userId, mac)) return true // since it waits here, somebody else's turn came
        const { cost } = expected
        if (cost === 'hmac') return this.#renew(userId, expected, copy)
        const isRight = await matchesPassphrase({ ...expected, cost }, copy, this.#context.pool)
        this.#context.assertOpen()
        if (isRight && this.#users.find(userId)?.passphrase === expected) this.#remember(userId, mac)
        return isRight
      })
      .finally(() => {
        wipe(copy)
        this.#underWay.delete(key)
      })
    this.#underWay.set(key, derivation)
    return derivation
  }

  /** A NetHSM's digest becomes one of ours, under which the passphrase is remembered. */
  async #renew(userId: string, expected: PassphraseDigest, passphrase: Uint8Array): Promise<boolean> {
    const { passphraseCost, pool, random, log } = this.#context
    const renewed = await renewDigest(expected, passphrase, passphraseCost, pool, random)
    if (renewed === null) return false
    this.#context.assertOpen()
    try {
      const held = await this.#users.renewDigest(userId, expected, renewed)
      if (held !== null) {
        this.#renewed.set(expected, held)
        this.#remember(userId, this.#mac(userId, held, passphrase))
      }
    } catch (error) {
      if (!(error instanceof CofferError)) throw error
      log.warning('users', `the passphrase of ${userId} is kept as it was: ${error.message}`) // the next login tries again
    }
    return true
  }
}

const isForgotten = ({ derivedMs, usedMs }: Remembered, nowMs: number): boolean =>
  nowMs - usedMs >= REMEMBERED_MS || nowMs - derivedMs >= REMEMBERED_MS_MAX
