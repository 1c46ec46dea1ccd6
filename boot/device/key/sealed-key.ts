/**
 * The device key inside the TPM, given out while register 7 is what it was, register 15 is zero, and the counter is there
 * that was made with the key. What that one counts, and to what end, is in minimum-version.ts.
 *
 * Register 7 holds the state of Secure Boot and the keys that vouched for what was started (TCG PC Client Platform
 * Firmware Profile, 3.3.4): it survives an update signed with the same key. Register 15 is one that neither firmware nor
 * boot loader nor kernel writes, and that nothing but a restart of the machine makes zero again: we close it. It cannot be
 * 12, in which systemd-boot 252 records the signed image's own command line: an update may change that.
 */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { wipe } from '../../../firmware/base/secret.ts'
import { DEVICE_KEY_BYTES, type DeviceKey } from '../../base/device-key-file.ts'
import { MalformedError } from '../../tpm/bytes.ts'
import type { Tpm } from '../../tpm/command.ts'
import { counterUnder, makeCounter, raiseCounter, readCounter, removeCounter } from '../../tpm/counter.ts'
import { randomOf } from '../../tpm/random.ts'
import { extendRegister, readRegisters } from '../../tpm/registers.ts'
import { evict, nameUnder, type SealConditions, unseal, withSealed } from '../../tpm/sealed.ts'
import { withStorageKey } from '../../tpm/storage-key.ts'
import { type TpmSealedRecord, writeRecord } from './sealed-record.ts'

export const SECURE_BOOT = 7
export const CLOSED_BY_US = 15
const ZERO = new Uint8Array(32)
const CLOSED = `register ${CLOSED_BY_US} of the TPM is closed until the machine is switched off and on`

// Of the range for owners (TPM 2.0 Library Part 2, 7.5; TCG Registry of Reserved Handles). More than one, because a new
// disk in the machine must not destroy the key of the one before.
const FIRST_HANDLE = 0x8143c0f0
const FIRST_COUNTER = 0x0183c0f0
const PLACES = Array.from({ length: 8 }, (_, i) => ({ handle: FIRST_HANDLE + i, counter: FIRST_COUNTER + i }))

/** The counter of a key, as it was when the key was opened. */
export interface OpenedCounter {
  handle: number
  value: number
}

/** The counter is null for keys of versions that made none. */
export type OpenedDeviceKey =
  | { key: Uint8Array; counter: OpenedCounter | null }
  | Exclude<DeviceKey, { key: Uint8Array }>

/** Makes a key and has the TPM keep it. Throws an error of the TPM. */
export function makeSealed(tpm: Tpm, recordPath: string): OpenedDeviceKey {
  const registers = readRegisters(tpm, [SECURE_BOOT, CLOSED_BY_US])
  const register7 = registers.get(SECURE_BOOT)!
  if (!isZero(registers.get(CLOSED_BY_US)!)) return { problem: `it cannot be made: ${CLOSED}` }
  const place = freePlace(tpm)
  if (place === null) return { problem: 'it cannot be made: the TPM is full of keys of earlier installations' }
  const key = createHash('sha256')
    .update(randomBytes(DEVICE_KEY_BYTES))
    .update(randomOf(tpm, DEVICE_KEY_BYTES))
    .digest()
  try {
    makeCounter(tpm, place.counter) // one that a power cut has left there goes
    const record = withStorageKey(tpm, (storageKey) =>
      withSealed(tpm, storageKey, key, conditions(register7, place.counter), ({ name, keepAs }) => {
        const made = { ...place, name, storageKeyName: storageKey.name, register7 }
        writeRecord(recordPath, made) // first: after a power cut in between we know what is ours
        keepAs(place.handle)
        return made
      }),
    )
    const opened = openSealed(tpm, record)
    if ('key' in opened && !timingSafeEqual(opened.key, key)) return { problem: 'the TPM has not kept it' }
    return opened
  } finally {
    wipe(key)
  }
}

/** The key, or why this machine does not give it now. Throws an error of the TPM. */
export function openSealed(tpm: Tpm, record: TpmSealedRecord): OpenedDeviceKey {
  const { handle, name, storageKeyName, register7, counter } = record
  const withhold = (problem: string) => ({ problem, withheld: true }) as const
  const found = nameUnder(tpm, handle)
  if (found === null || !equal(found, name))
    return withhold('the TPM of this machine does not hold it: it is another machine, or its TPM was cleared')
  const registers = readRegisters(tpm, [SECURE_BOOT, CLOSED_BY_US])
  if (!isZero(registers.get(CLOSED_BY_US)!)) return withhold(CLOSED)
  if (!equal(registers.get(SECURE_BOOT)!, register7))
    return withhold('Secure Boot is not as it was when it was sealed: off, or with other keys (register 7 of the TPM)')
  return withStorageKey(tpm, (storageKey) => {
    if (!equal(storageKey.name, storageKeyName)) return withhold('the TPM answers with another storage key')
    const value = counter === null ? null : readCounter(tpm, storageKey, counterUnder(counter))
    const key = unseal(tpm, storageKey, { handle, name }, conditions(register7, counter))
    return { key, counter: counter === null ? null : { handle: counter, value: value! } }
  })
}

/** Throws an error of the TPM, also when the counter does not get there. */
export function raiseTo(tpm: Tpm, { handle, value }: OpenedCounter, wanted: number): void {
  const counter = counterUnder(handle)
  for (let left = wanted - value; left > 0; left--) raiseCounter(tpm, counter)
  const reached = withStorageKey(tpm, (storageKey) => readCounter(tpm, storageKey, counter))
  if (reached !== wanted) throw new MalformedError('a counter that does not count')
}

/** Destroys the key, if the TPM still has it. Throws an error of the TPM. */
export function evictSealed(tpm: Tpm, { handle, name, counter }: TpmSealedRecord): void {
  const found = nameUnder(tpm, handle)
  if (found === null || !equal(found, name)) return
  evict(tpm, handle)
  if (counter !== null) removeCounter(tpm, counter)
}

/** Destroys the keys of all installations in this TPM. Throws an error of the TPM. */
export function evictAll(tpm: Tpm): void {
  for (const { handle, counter } of PLACES) {
    if (nameUnder(tpm, handle) !== null) evict(tpm, handle)
    removeCounter(tpm, counter)
  }
}

/** Whoever comes after us finds a register that opens nothing. */
export function closeRegister(tpm: Tpm): void {
  extendRegister(tpm, CLOSED_BY_US, createHash('sha256').update('Coffer: the device key is closed').digest())
}

const conditions = (register7: Uint8Array, counter: number | null): SealConditions => ({
  registers: new Map([
    [SECURE_BOOT, register7],
    [CLOSED_BY_US, ZERO],
  ]),
  counter: counter === null ? undefined : counterUnder(counter),
})

const freePlace = (tpm: Tpm) => PLACES.find(({ handle }) => nameUnder(tpm, handle) === null) ?? null

/** Of what is no secret. */
const equal = (one: Uint8Array, other: Uint8Array): boolean => Buffer.from(one).equals(other)
const isZero = (register: Uint8Array): boolean => equal(register, ZERO)
