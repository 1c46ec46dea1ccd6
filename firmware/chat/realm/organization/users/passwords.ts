/** Passwords of accounts: scrypt, one derivation at a time, in fair order. Contract section 1.2. */

import { createHash } from 'node:crypto'
import { createFairQueue, INSIDE, type QueuePriority } from '../../../../base/fair-queue.ts'
import { createLoginLimiter } from '../../../../base/login-limiter.ts'
import { wipe } from '../../../../base/secret.ts'
import type { Random } from '../../../../crypto/random.ts'
import { equalBytes } from '../../../../crypto/seal.ts'
import type { ScryptCost } from '../../../../crypto/types.ts'
import { invalidParameter } from '../../../base/error.ts'
import type { Password } from '../../model/records.ts'

/** 32 MiB and about 90 ms: the same cost as for the appliance's users. */
const PASSWORD_COST: ScryptCost = { N: 2 ** 15, r: 8, p: 1 }

const PASSWORD_LENGTH = { min: 10, max: 100 } as const // characters; contract section 11.17

const SALT_BYTES = 16
const WAITING_MAX = 64 // six seconds of derivations

/** Runs scrypt without blocking the event loop. */
export type Derive = (password: Uint8Array, salt: Uint8Array, cost: ScryptCost) => Promise<Uint8Array>

export interface Passwords {
  /** Throws `REQUEST_VARIABLE_INVALID` for `parameter` if the password is too short or too long. */
  digest(userId: number, password: string, parameter?: string): Promise<Password>
  /**
   * Takes the same time for a name without an account. Throws `tooManyAttempts` within a second of a wrong password for the same name from
   * the same address, and `busy`.
   */
  matches(attempt: PasswordAttempt): Promise<boolean>
  /** Resets the login limiter for these names. */
  forgive(names: readonly string[]): void
}

interface PasswordAttempt {
  address: string
  /** Name of a caller who has not signed in, or id of a signed-in account. */
  who: string | number
  password: string
  expected: Password | undefined
}

interface PasswordsOptions {
  derive: Derive
  random: Random
  cost?: ScryptCost
  /** Must be monotonic. */
  nowMs?: () => number
}

export function createPasswords({
  derive,
  random,
  cost = PASSWORD_COST,
  nowMs = () => performance.now(),
}: PasswordsOptions): Passwords {
  const queue = createFairQueue(WAITING_MAX)
  const limiter = createLoginLimiter(nowMs)
  const standIn = random(SALT_BYTES)

  async function derived(
    password: string,
    salt: Uint8Array,
    cost: ScryptCost,
    place: QueuePriority,
  ): Promise<Uint8Array> {
    const bytes = Buffer.from(password)
    try {
      return await queue.run(place, () => derive(bytes, salt, cost))
    } finally {
      wipe(bytes)
    }
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
    async matches({ address, who, password, expected }) {
      const isRight = await limiter.attempt(address, keyOf(who), async (place) => {
        const salt = expected === undefined ? standIn : Buffer.from(expected.salt, 'base64')
        const hash = await derived(password, salt, expected?.cost ?? cost, typeof who === 'number' ? INSIDE : place)
        return expected !== undefined && equalBytes(hash, Buffer.from(expected.hash, 'base64')) ? true : null
      })
      return isRight === true
    },
    forgive(names) {
      for (const name of names) limiter.forgive(keyOf(name))
    },
  }
}

/** Bounded in length for any claimed name. The key of an account never equals that of a name. */
const keyOf = (who: string | number): string =>
  typeof who === 'number' ? `#${who}` : createHash('sha256').update(who.trim().toLowerCase()).digest('base64')

const toText = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
