/** Credentials: who a user name and a passphrase belong to, remembered for a short time. Contract section 7.2. */

import { hash } from 'node:crypto'
import type { Caller } from '../vocabulary.ts'
import type { Context } from './context.ts'
import { namespaceOf } from './identifiers.ts'
import { matchesPassphrase, type PassphraseDigest } from './passphrase.ts'
import type { User } from './user-record.ts'
import type { Users } from './users.ts'

const REMEMBERED_MS = 300_000 // clients send credentials with each request; one derivation in five minutes is no load
const REMEMBERED_MAX = 10_000 // users; about 3 MB

const KEY_BYTES = 32
const scratch = Buffer.alloc(1024) // every request comes with credentials; wiped after each use

interface Remembered {
  mac: string
  untilMs: number
}

export class Credentials {
  readonly #context: Context
  readonly #users: Users
  readonly #key: Uint8Array
  /** By user id, oldest first. */
  readonly #remembered = new Map<string, Remembered>()
  /** Derivations under way, by mac: equal requests at the same time share one. */
  readonly #underWay = new Map<string, Promise<boolean>>()
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
  verify(userId: string, passphrase: Uint8Array): Caller | Promise<Caller | null> {
    const user = this.#users.find(userId)
    const mac = this.#mac(userId, user?.passphrase ?? this.#nobody, passphrase)
    if (user !== undefined && this.#isRemembered(userId, mac)) return callerOf(user)
    return this.#verifySlowly(userId, user, mac, passphrase)
  }

  async #verifySlowly(
    userId: string,
    user: User | undefined,
    mac: string,
    passphrase: Uint8Array,
  ): Promise<Caller | null> {
    const expected = user?.passphrase ?? this.#nobody
    const right = await this.#derive(mac, expected, passphrase)
    this.#context.assertOpen()
    if (user === undefined || !right) return null
    // Deleted or given another passphrase meanwhile.
    if (this.#users.find(userId)?.passphrase !== expected) return null
    this.#remember(userId, mac)
    return callerOf(user)
  }

  close(): void {
    this.#key.fill(0)
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

  #isRemembered(userId: string, mac: string): boolean {
    const remembered = this.#remembered.get(userId)
    return remembered?.mac === mac && remembered.untilMs > this.#context.monotonicMs()
  }

  #remember(userId: string, mac: string): void {
    this.#remembered.delete(userId)
    for (const [oldest, { untilMs }] of this.#remembered) {
      if (untilMs > this.#context.monotonicMs() && this.#remembered.size < REMEMBERED_MAX) break
      this.#remembered.delete(oldest)
    }
    this.#remembered.set(userId, { mac, untilMs: this.#context.monotonicMs() + REMEMBERED_MS })
  }

  #derive(mac: string, expected: PassphraseDigest, passphrase: Uint8Array): Promise<boolean> {
    const shared = this.#underWay.get(mac)
    if (shared !== undefined) return shared
    const derivation = matchesPassphrase(expected, passphrase, this.#context.pool).finally(() =>
      this.#underWay.delete(mac),
    )
    this.#underWay.set(mac, derivation)
    return derivation
  }
}

const callerOf = ({ id, role }: User): Caller => ({ userId: id, namespace: namespaceOf(id), role })
