/**
 * A counter in the TPM's nonvolatile memory. It only increases: a counter that is removed and made again starts above all values
 * that any counter of this TPM has had. TPM 2.0 Library Part 2, 13 (NV structures); Part 3, 31 (NV commands), 23.9 (PolicyNV).
 */

import { createHash } from 'node:crypto'
import { SHA256 } from './algorithms.ts'
import { EMPTY, join, MalformedError, readerOf, sized, u16, u32 } from './bytes.ts'
import { type Entity, entity, OWNER, PASSWORD, type Tpm } from './command.ts'
import { TpmError } from './error.ts'
import { inSession, type TpmSession } from './session.ts'
import { nameOf, type StorageKey } from './storage-key.ts'

/** TPMA_NV: Part 2, 13.4. The authorization value is empty. */
const AUTH_WRITE = 1 << 2
const COUNTER = 1 << 4
const AUTH_READ = 1 << 18
const NO_DA = 1 << 25
const WRITTEN = 1 << 29
const ATTRIBUTES = AUTH_WRITE | COUNTER | AUTH_READ | NO_DA

const COUNTER_BYTES = 8
const POLICY_NV = 0x149 // TPM_CC_PolicyNV
const UNSIGNED_GE = 0x0007 // TPM_EO: Part 2, 6.8
// At least zero: true for every value, but false if the counter is missing or was never raised.
const CONDITION = [new Uint8Array(COUNTER_BYTES), u16(0), u16(UNSIGNED_GE)] as const

/** Entity of a counter that `makeCounter` has made under the handle. */
export const counterUnder = (handle: number): Entity => ({ handle, name: nameOf(areaOf(handle, ATTRIBUTES | WRITTEN)) })

/** Makes a counter and replaces any existing one under the handle. Throws a TpmError `nvSpace` if the TPM is full. */
export function makeCounter(tpm: Tpm, handle: number): Entity {
  removeCounter(tpm, handle)
  const parameters = join(sized(EMPTY), sized(areaOf(handle, ATTRIBUTES)))
  tpm.run('NV_DefineSpace', { handles: [OWNER], parameters, authorization: PASSWORD })
  raiseCounter(tpm, entity(handle)) // the first increment sets the value
  return counterUnder(handle)
}

/**
 * Reads the counter. The session authenticates the TPM, so that an attacker on its bus cannot change the value. Throws a TpmError
 * `handle` if there is no counter.
 */
export function readCounter(tpm: Tpm, storageKey: StorageKey, counter: Entity): number {
  const value = inSession(tpm, 'hmac', storageKey, (session) =>
    tpm
      .run('NV_Read', {
        handles: [counter, counter],
        parameters: join(u16(COUNTER_BYTES), u16(0)),
        authorization: session.authorize('response'),
      })
      .sized(),
  )
  const reader = readerOf(value)
  const number = reader.u32() * 2 ** 32 + reader.u32()
  reader.end()
  if (!Number.isSafeInteger(number)) throw new MalformedError('a counter that is too high')
  return number
}

/** Adds one. Read the result with `readCounter`. */
export function raiseCounter(tpm: Tpm, counter: Entity): void {
  tpm.run('NV_Increment', { handles: [counter, counter], authorization: PASSWORD })
}

export function removeCounter(tpm: Tpm, handle: number): void {
  try {
    tpm.run('NV_UndefineSpace', { handles: [OWNER, entity(handle)], authorization: PASSWORD })
  } catch (error) {
    if (!(error instanceof TpmError && error.response === 'handle')) throw error
  }
}

/** Policy that requires `policy` and the existence of the counter. */
export const withCounter = (policy: Uint8Array, { name }: Entity): Uint8Array =>
  hash(policy, u32(POLICY_NV), hash(...CONDITION), name)

export function checkCounter(tpm: Tpm, session: TpmSession, counter: Entity): void {
  const [value, offset, operation] = CONDITION
  tpm.run('PolicyNV', {
    handles: [counter, counter, session],
    parameters: join(sized(value), offset, operation),
    authorization: PASSWORD,
  })
}

/** TPMS_NV_PUBLIC: Part 2, 13.5. */
const areaOf = (handle: number, attributes: number): Uint8Array =>
  join(u32(handle), u16(SHA256), u32(attributes), sized(EMPTY), u16(COUNTER_BYTES))

function hash(...parts: readonly Uint8Array[]): Uint8Array {
  const made = createHash('sha256')
  for (const part of parts) made.update(part)
  return made.digest()
}
