/** Passwords of accounts: scrypt, one derivation after the other, in fair turns. Contract section 1.2, design 10. */

import { createHash } from 'node:crypto'
import { createFairQueue, INSIDE, type Place } from '../../base/fair-queue.ts'
import { wipe } from '../../base/secret.ts'
import type { Random } from '../../crypto/random.ts'
import { equalBytes } from '../../crypto/seal.ts'
import type { ScryptCost } from '../../crypto/types.ts'
import { ChatError, invalidParameter } from '../error.ts'
import type { Password } from './records.ts'

/** 32 MiB and about 90 ms: the appliance's own. */
export const PASSWORD_COST: ScryptCost = { N: 2 ** 15, r: 8, p: 1 }

export const PASSWORD_LENGTH = { min: 10, max: 100 } as const // characters; contract section 11.17

const SALT_BYTES = 16
const WAITING_MAX = 64 // six seconds of derivations

/** Wrong passwords of one name within this time; then nobody can sign in under it by password until it is over. */
const FAILURES_MAX = 5
const FAILURES_WITHIN_MS = 1_800_000
const NAMES_MAX = 10_000

/** Runs scrypt where it holds nobody up. */
export type Derive = (password: Uint8Array, salt: Uint8Array, cost: ScryptCost) => Promise<Uint8Array>

export interface Passwords {
  /** Throws `REQUEST_VARIABLE_INVALID` when it is too short or long. `parameter` names it. */
  digest(userId: number, password: string, parameter?: string): Promise<Password>
  /**
   * Takes as long for a name without an account. Throws `RATE_LIMIT_HIT` when the name had too many wrong passwords, and
   * `busy`.
   */
  matches(name: string, password: string, expected: Password | undefined, place: Place): Promise<boolean>
}

export interface PasswordsOptions {
  derive: Derive
  random: Random
  cost?: ScryptCost
  /** Must never jump. */
  nowMs?: () => number
}

export function createPasswords({
  derive,
  random,
  cost = PASSWORD_COST,
  nowMs = () => performance.now(),
}: PasswordsOptions): Passwords {
  const queue = createFairQueue(WAITING_MAX)
  const failures = new Map<string, { count: number; endsMs: number }>() // by failureKey, in order of their beginning
  const standIn = random(SALT_BYTES)

  async function derived(password: string, salt: Uint8Array, cost: ScryptCost, place: Place): Promise<Uint8Array> {
    const bytes = Buffer.from(password)
    try {
      return await queue.run(place, () => derive(bytes, salt, cost))
    } finally {
      wipe(bytes)
    }
  }

  function expectFewFailures(name: string): void {
    const now = nowMs()
    const failed = failures.get(name)
    if (failed === undefined || failed.endsMs <= now || failed.count < FAILURES_MAX) return
    const wait = (failed.endsMs - now) / 1000
    throw new ChatError('RATE_LIMIT_HIT', 'Too many wrong passwords, try again later', { 'retry-after': wait })
  }

  function fail(name: string): void {
    const now = nowMs()
    const known = failures.get(name)
    if (known !== undefined && known.endsMs > now) {
      known.count++
      return
    }
    failures.delete(name)
    for (const [other, { endsMs }] of failures) {
      if (endsMs > now && failures.size < NAMES_MAX) break
      failures.delete(other)
    }
    failures.set(name, { count: 1, endsMs: now + FAILURES_WITHIN_MS })
  }

  return {
    async digest(userId, password, parameter = 'password') {
      const { min, max } = PASSWORD_LENGTH
      const length = [...password].length
      if (length < min || length > max)
        throw invalidParameter(parameter, `${parameter} must have ${min} to ${max} characters`)
      const salt = random(SALT_BYTES)
      const hash = await derived(password, salt, cost, INSIDE)
      return { userId, salt: toText(salt), hash: toText(hash), cost }
    },
    async matches(name, password, expected, place) {
      const key = failureKey(name)
      expectFewFailures(key)
      const salt = expected === undefined ? standIn : Buffer.from(expected.salt, 'base64')
      const hash = await derived(password, salt, expected?.cost ?? cost, place)
      expectFewFailures(key)
      const isRight = expected !== undefined && equalBytes(hash, Buffer.from(expected.hash, 'base64'))
      if (isRight) failures.delete(key)
      else fail(key)
      return isRight
    },
  }
}

/** Of a fixed length, whatever is claimed to be a name. */
const failureKey = (name: string): string => createHash('sha256').update(name.toLowerCase()).digest('base64')

const toText = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
