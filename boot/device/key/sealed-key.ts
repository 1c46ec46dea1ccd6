/**
 * The device key inside the TPM. The TPM releases it while register 7 is unchanged, register 15 is zero, and the counter that was
 * made with the key exists. minimum-version.ts explains the use of the counter.
 * Register 7 holds the state of Secure Boot and the keys that verified the started programs (TCG PC Client Platform Firmware
 * Profile, 3.3.4): it survives an update that is signed with the same key. Register 15 is written by neither UEFI firmware nor
 * boot loader nor kernel, and only a restart of the machine resets it to zero. The boot manager closes it. Register 12 cannot be
 * used: systemd-boot 252 records the command line of the signed image in it, which an update may change.
 */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { defined } from '../../../firmware/base/defined.ts'
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

// Handles in the range for owners (TPM 2.0 Library Part 2, 7.5; TCG Registry of Reserved Handles). There are several, since a new
// disk in the machine must not destroy the key of the previous one.
const FIRST_HANDLE = 0x8143c0f0
const FIRST_COUNTER = 0x0183c0f0
const PLACES = Array.from({ length: 8 }, (_, i) => ({ handle: FIRST_HANDLE + i, counter: FIRST_COUNTER + i }))

/** Counter of a key, with its value when the key was opened. */
export interface OpenedCounter {
  handle: number
  value: number
}

/** `counter` is null for keys of versions that made none. */
export type OpenedDeviceKey =
  | { key: Uint8Array; counter: OpenedCounter | null }
  | Exclude<DeviceKey, { key: Uint8Array }>

/** `isClosed`: no key may be used before the next start of the machine. */
function readState(tpm: Tpm): { register7: Uint8Array; isClosed: boolean } {
  const registers = readRegisters(tpm, [SECURE_BOOT, CLOSED_BY_US])
  return {
    register7: defined(registers.get(SECURE_BOOT)),
    isClosed: !isZero(defined(registers.get(CLOSED_BY_US))),
  }
}

/** Makes a key and stores it in the TPM. Throws an error of the TPM. */
export function makeSealed(tpm: Tpm, recordPath: string): OpenedDeviceKey {
  const { register7, isClosed } = readState(tpm)
  if (isClosed) return { problem: `it cannot be created: ${CLOSED}` }
  const place = freePlace(tpm)
  if (place === null) return { problem: 'it cannot be made: the TPM is full of keys of earlier installations' }
  const key = createHash('sha256')
    .update(randomBytes(DEVICE_KEY_BYTES))
    .update(randomOf(tpm, DEVICE_KEY_BYTES))
    .digest()
  try {
    makeCounter(tpm, place.counter) // removes a counter that a power cut has left there
    const record = withStorageKey(tpm, (storageKey) =>
      withSealed(tpm, storageKey, key, conditions(register7, place.counter), ({ name, keepAs }) => {
        const made = { ...place, name, storageKeyName: storageKey.name, register7 }
        writeRecord(recordPath, made) // first, so that the objects can be identified after a power cut
        keepAs(place.handle)
        return made
      }),
    )
    const opened = openSealed(tpm, record)
    if ('key' in opened && !timingSafeEqual(opened.key, key)) return { problem: 'the TPM did not store it' }
    return opened
  } finally {
    wipe(key)
  }
}

/** Returns the key, or the reason why this machine does not release it. Throws an error of the TPM. */
export function openSealed(tpm: Tpm, record: TpmSealedRecord): OpenedDeviceKey {
  const { handle, name, storageKeyName, register7, counter } = record
  const withhold = (problem: string) => ({ problem, withheld: true }) as const
  const found = nameUnder(tpm, handle)
  if (found === null || !equal(found, name))
    return withhold('the TPM of this machine does not hold it: it is another machine, or its TPM was cleared')
  const state = readState(tpm)
  if (state.isClosed) return withhold(CLOSED)
  if (!equal(state.register7, register7))
    return withhold(
      'Secure Boot has changed since the key was sealed: it is off, or has other keys (register 7 of the TPM)',
    )
  return withStorageKey(tpm, (storageKey) => {
    if (!equal(storageKey.name, storageKeyName)) return withhold('the TPM answers with another storage key')
    const opened =
      counter === null ? null : { handle: counter, value: readCounter(tpm, storageKey, counterUnder(counter)) }
    const key = unseal(tpm, storageKey, { handle, name }, conditions(register7, counter))
    return { key, counter: opened }
  })
}

/** Throws an error of the TPM, also if the counter does not reach the value. */
export function raiseTo(tpm: Tpm, { handle, value }: OpenedCounter, wanted: number): void {
  const counter = counterUnder(handle)
  for (let left = wanted - value; left > 0; left--) raiseCounter(tpm, counter)
  const reached = withStorageKey(tpm, (storageKey) => readCounter(tpm, storageKey, counter))
  if (reached !== wanted) throw new MalformedError('a counter that does not count')
}

/** Destroys the key if the TPM still has it. Throws an error of the TPM. */
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

/** Changes the register so that later programs cannot open the key. */
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

/** For public values only. */
const equal = (one: Uint8Array, other: Uint8Array): boolean => Buffer.from(one).equals(other)
const isZero = (register: Uint8Array): boolean => equal(register, ZERO)
