/**
 * The device key inside the TPM, given out while register 7 is what it was and register 15 is zero.
 *
 * Register 7 holds the state of Secure Boot and the keys that vouched for what was started (TCG PC Client Platform
 * Firmware Profile, 3.3.4): it survives an update signed with the same key. Register 15 is one that neither firmware nor
 * boot loader nor kernel writes, and that nothing but a restart of the machine makes zero again: we close it. It cannot be
 * 12, in which systemd-boot 252 records the signed image's own command line: an update may change that.
 */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { DEVICE_KEY_BYTES, type DeviceKey } from '../../base/device-key-file.ts'
import type { Tpm } from '../../tpm/command.ts'
import { randomOf } from '../../tpm/random.ts'
import { extendRegister, type Registers, readRegisters } from '../../tpm/registers.ts'
import { evict, nameUnder, unseal, withSealed } from '../../tpm/sealed.ts'
import { withStorageKey } from '../../tpm/storage-key.ts'
import { type SealedRecord, writeRecord } from './sealed-record.ts'

export const SECURE_BOOT = 7
export const CLOSED_BY_US = 15
const ZERO = new Uint8Array(32)
const CLOSED = `register ${CLOSED_BY_US} of the TPM is closed until the machine is switched off and on`

// Of the range for owners (TPM 2.0 Library Part 2, 7.5; TCG Registry of Reserved Handles). More than one, because a new
// disk in the machine must not destroy the key of the one before.
const FIRST_HANDLE = 0x8143c0f0
const HANDLES = Array.from({ length: 8 }, (_, i) => FIRST_HANDLE + i)

/** Makes a key and has the TPM keep it. Throws an error of the TPM. */
export function makeSealed(tpm: Tpm, recordPath: string): DeviceKey {
  const registers = readRegisters(tpm, [SECURE_BOOT, CLOSED_BY_US])
  const register7 = registers.get(SECURE_BOOT)!
  if (!isZero(registers.get(CLOSED_BY_US)!)) return { problem: `it cannot be made: ${CLOSED}` }
  const handle = freeHandle(tpm)
  if (handle === null) return { problem: 'it cannot be made: the TPM is full of keys of earlier installations' }
  const key = createHash('sha256')
    .update(randomBytes(DEVICE_KEY_BYTES))
    .update(randomOf(tpm, DEVICE_KEY_BYTES))
    .digest()
  try {
    const record = withStorageKey(tpm, (storageKey) =>
      withSealed(tpm, storageKey, key, wanted(register7), ({ name, keepAs }) => {
        const made = { handle, name, storageKeyName: storageKey.name, register7 }
        writeRecord(recordPath, made) // first: after a power cut in between we know what is ours
        keepAs(handle)
        return made
      }),
    )
    const opened = openSealed(tpm, record)
    if ('key' in opened && !timingSafeEqual(opened.key, key)) return { problem: 'the TPM has not kept it' }
    return opened
  } finally {
    key.fill(0)
  }
}

/** The key, or why this machine does not give it now. Throws an error of the TPM. */
export function openSealed(tpm: Tpm, { handle, name, storageKeyName, register7 }: SealedRecord): DeviceKey {
  const withhold = (problem: string) => ({ problem, withheld: true }) as const
  const found = nameUnder(tpm, handle)
  if (found === null || !equal(found, name))
    return withhold('the TPM of this machine does not hold it: it is another machine, or its TPM was cleared')
  const registers = readRegisters(tpm, [SECURE_BOOT, CLOSED_BY_US])
  if (!isZero(registers.get(CLOSED_BY_US)!)) return withhold(CLOSED)
  if (!equal(registers.get(SECURE_BOOT)!, register7))
    return withhold('Secure Boot is not as it was when it was sealed: off, or with other keys (register 7 of the TPM)')
  return withStorageKey(tpm, (storageKey) =>
    equal(storageKey.name, storageKeyName)
      ? { key: unseal(tpm, storageKey, { handle, name }, wanted(register7)) }
      : withhold('the TPM answers with another storage key'),
  )
}

/** Destroys the key, if the TPM still has it. Throws an error of the TPM. */
export function evictSealed(tpm: Tpm, { handle, name }: SealedRecord): void {
  const found = nameUnder(tpm, handle)
  if (found !== null && equal(found, name)) evict(tpm, handle)
}

/** Destroys the keys of all installations in this TPM. Throws an error of the TPM. */
export function evictAll(tpm: Tpm): void {
  for (const handle of HANDLES) if (nameUnder(tpm, handle) !== null) evict(tpm, handle)
}

/** Whoever comes after us finds a register that opens nothing. */
export function closeRegister(tpm: Tpm): void {
  extendRegister(tpm, CLOSED_BY_US, createHash('sha256').update('Coffer: the device key is closed').digest())
}

const wanted = (register7: Uint8Array): Registers =>
  new Map([
    [SECURE_BOOT, register7],
    [CLOSED_BY_US, ZERO],
  ])

const freeHandle = (tpm: Tpm): number | null => HANDLES.find((handle) => nameUnder(tpm, handle) === null) ?? null

/** Of what is no secret. */
const equal = (one: Uint8Array, other: Uint8Array): boolean => Buffer.from(one).equals(other)
const isZero = (register: Uint8Array): boolean => equal(register, ZERO)
