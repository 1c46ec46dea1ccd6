/**
 * A secret inside the TPM, which releases it only while registers have certain values and a counter exists. It is a persistent
 * object, and its wrapped form is never stored outside: once evicted, the secret is destroyed, even if copies of the disk exist.
 * TPM 2.0 Library Part 1, 25.1.2 (sealed data), 37.3 (persistent objects).
 */

import { wipe } from '../../firmware/base/secret.ts'
import { KEYED_HASH, NULL, SHA256 } from './algorithms.ts'
import { EMPTY, join, sized, u16, u32 } from './bytes.ts'
import { type Entity, entity, flush, OWNER, PASSWORD, type Tpm } from './command.ts'
import { checkCounter, withCounter } from './counter.ts'
import { TpmError } from './error.ts'
import { checkRegisters, policyOf, type Registers } from './registers.ts'
import { inSession } from './session.ts'
import { FIXED_PARENT, FIXED_TPM, NO_DA, nameOf, type StorageKey } from './storage-key.ts'

export interface SealConditions {
  registers: Registers
  counter?: Entity | undefined
}

const ADMIN_WITH_POLICY = 1 << 7 // changing its authorization value requires the policy, too

/** A sealed secret in the TPM's transient memory, until `keepAs`. `name` identifies it. */
export interface Sealed {
  name: Uint8Array
  /** Makes it persistent under an unused handle. Throws a TpmError `nvSpace` if the TPM is full. */
  keepAs(handle: number): void
}

/** Seals a secret of at most 128 bytes and calls `work` with it. */
export function withSealed<T>(
  tpm: Tpm,
  storageKey: StorageKey,
  secret: Uint8Array,
  { registers, counter }: SealConditions,
  work: (sealed: Sealed) => T,
): T {
  const policy = counter === undefined ? policyOf(registers) : withCounter(policyOf(registers), counter)
  const [wrapped, area] = create(tpm, storageKey, secret, policy)
  const { handle } = tpm.runForHandle('Load', {
    handles: [storageKey],
    parameters: join(sized(wrapped), sized(area)),
    authorization: PASSWORD,
  })
  try {
    return work({ name: nameOf(area), keepAs: (persistent) => evictControl(tpm, handle, persistent) })
  } finally {
    flush(tpm, handle)
  }
}

/** Returns the secret. Throws a TpmError `value` if the registers differ, `policyFail` if other conditions are not met. */
export function unseal(
  tpm: Tpm,
  storageKey: StorageKey,
  sealed: Entity,
  { registers, counter }: SealConditions,
): Uint8Array {
  return inSession(tpm, 'policy', storageKey, (session) => {
    checkRegisters(tpm, session, registers)
    if (counter !== undefined) checkCounter(tpm, session, counter)
    const response = tpm.run('Unseal', { handles: [sealed], authorization: session.authorize('response') })
    try {
      return response.sized()
    } finally {
      response.wipe()
    }
  })
}

export function nameUnder(tpm: Tpm, handle: number): Uint8Array | null {
  try {
    return nameOf(tpm.run('ReadPublic', { handles: [entity(handle)] }).sized())
  } catch (error) {
    if (error instanceof TpmError && error.response === 'handle') return null
    throw error
  }
}

export const evict = (tpm: Tpm, handle: number): void => evictControl(tpm, handle, handle)

/** Makes an object persistent, or destroys a persistent one: Part 3, 28.5. */
function evictControl(tpm: Tpm, object: number, persistent: number): void {
  tpm.run('EvictControl', { handles: [OWNER, entity(object)], parameters: u32(persistent), authorization: PASSWORD })
}

/** Returns the secret, wrapped by the storage key, and its public area: a TPMT_PUBLIC for data, without a scheme. Part 3, 12.1. */
function create(tpm: Tpm, storageKey: StorageKey, secret: Uint8Array, policy: Uint8Array): [Uint8Array, Uint8Array] {
  const attributes = FIXED_TPM | FIXED_PARENT | ADMIN_WITH_POLICY | NO_DA
  const area = join(u16(KEYED_HASH), u16(SHA256), u32(attributes), sized(policy), u16(NULL), sized(EMPTY))
  // Nested sizes before the secret: the complete sensitive area, the empty authorization value, the secret.
  const sizes = [u16(2 + 2 + secret.length), u16(0), u16(secret.length)]
  const noData = sized(EMPTY)
  const noRegisters = u32(0) // registers to record at creation, which are unrelated to the policy
  const parameters = join(...sizes, secret, sized(area), noData, noRegisters)
  try {
    const created = inSession(tpm, 'hmac', storageKey, (session) =>
      tpm.run('Create', { handles: [storageKey], parameters, authorization: session.authorize('command') }),
    )
    return [created.sized(), created.sized()]
  } finally {
    wipe(parameters)
  }
}
