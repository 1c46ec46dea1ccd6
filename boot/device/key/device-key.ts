/**
 * Storage of the device key: sealed in the TPM, or in a file of mode 0600 on the data partition if the machine had no TPM at its
 * first start.
 * The key is opened once, when the boot manager starts. Then register 15 is closed, and the TPM releases the key to no program
 * until the machine restarts. A restarted firmware gets the key from the boot manager's memory.
 */

import { existsSync, readdirSync, rmSync } from 'node:fs'
import { wipe } from '../../../firmware/base/secret.ts'
import { type DeviceKey, openDeviceKey } from '../../base/device-key-file.ts'
import { syncDirectory } from '../../base/files.ts'
import { createTpm, type Tpm } from '../../tpm/command.ts'
import { openTpmDevice } from '../../tpm/transport.ts'
import {
  closeRegister,
  evictAll,
  evictSealed,
  makeSealed,
  type OpenedCounter,
  type OpenedDeviceKey,
  openSealed,
  raiseTo,
} from './sealed-key.ts'
import { readRecord } from './sealed-record.ts'
import { refusalOf } from './sealed-refusal.ts'

/** A counter that only increases. */
export interface TpmCounter {
  readonly value: number
  /** Returns the reason of a failure, or null. */
  raiseTo(value: number): string | null
}

export interface DeviceKeys {
  /** Counter in the TPM that holds the key. Null if the key is in a file, or if the TPM has made no counter with it. */
  readonly counter: TpmCounter | null
  /** Called at each start of the firmware. The caller wipes the key. */
  open(): DeviceKey
  /**
   * Destroys the key as part of a factory reset, while the data partition is mounted: sealed data can no longer be opened.
   * Returns the reason of a failure, or null.
   */
  erase(): string | null
  /** Wipes the key when the boot manager ends. */
  wipe(): void
}

/** Null if the machine has no TPM. */
type OpenTpm = () => Tpm | null

const TPM_DEVICE = '/dev/tpmrm0'

interface DeviceKeysOptions {
  /** Reason why the data partition is unusable: then no key is made. */
  problem?: string | null
  openTpm?: OpenTpm
}

/** Makes the key if the store is empty. */
export function openDeviceKeys(
  directory: string,
  storeDirectory: string,
  { problem = null, openTpm = openOwnTpm }: DeviceKeysOptions = {},
): DeviceKeys {
  const disk = { storeDirectory, problem, ...pathsIn(directory) }
  const held = openOnce(disk, openTpm)
  return {
    counter: 'key' in held && held.counter !== null ? createCounter(held.counter, openTpm) : null,
    open: () => ('key' in held ? { key: held.key.slice() } : held),
    erase: () => eraseDeviceKey(directory, openTpm),
    wipe: () => {
      if ('key' in held) wipe(held.key)
    },
  }
}

/**
 * Destroys the key as part of a factory reset, with the data partition mounted if possible. The key in the TPM is destroyed
 * first: without it the remaining data cannot be decrypted. Returns the reason of a failure, or null.
 */
export function eraseDeviceKey(directory: string, openTpm: OpenTpm = openOwnTpm): string | null {
  const { keyPath, recordPath } = pathsIn(directory)
  let problem: string | null = null
  try {
    if (!existsSync(keyPath)) problem = eraseFromTpm(existsSync(recordPath) ? readRecord(recordPath) : null, openTpm)
  } catch (error) {
    problem = refusalOf(error)
  }
  const files = [keyPath, recordPath].filter((path) => existsSync(path))
  for (const path of files) rmSync(path)
  if (files.length > 0) syncDirectory(directory)
  return problem
}

function createCounter({ handle, value }: OpenedCounter, openTpm: OpenTpm): TpmCounter {
  let known = value
  return {
    get value() {
      return known
    },
    raiseTo: (wanted) => {
      try {
        const tpm = openTpm()
        if (tpm === null) return 'the TPM is gone'
        try {
          raiseTo(tpm, { handle, value: known }, wanted)
        } finally {
          tpm.close()
        }
        known = wanted
        return null
      } catch (error) {
        return refusalOf(error)
      }
    },
  }
}

const openOwnTpm: OpenTpm = () => (existsSync(TPM_DEVICE) ? createTpm(openTpmDevice(TPM_DEVICE)) : null)

const pathsIn = (directory: string) => ({ keyPath: `${directory}/device.key`, recordPath: `${directory}/device.tpm` })

interface Disk {
  storeDirectory: string
  problem: string | null
  keyPath: string
  recordPath: string
}

function openOnce(disk: Disk, openTpm: OpenTpm): OpenedDeviceKey {
  let key: OpenedDeviceKey | null = null
  try {
    const tpm = openTpm()
    if (tpm === null) return withoutTpm(disk)
    try {
      key = withTpm(tpm, disk)
    } finally {
      try {
        closeRegister(tpm) // even if no key was opened: this TPM may hold the key of another installation
      } finally {
        tpm.close()
      }
    }
    return key
  } catch (error) {
    if (key !== null && 'key' in key) wipe(key.key) // the key must not be used while the register is open
    return { problem: refusalOf(error), withheld: !isEmpty(disk.storeDirectory) }
  }
}

function withoutTpm({ problem, keyPath, recordPath, storeDirectory }: Disk): OpenedDeviceKey {
  if (problem !== null) return { problem }
  if (existsSync(recordPath)) {
    if (!isEmpty(storeDirectory))
      return { problem: 'it is in the TPM of another machine, and this one has none', withheld: true }
    rmSync(recordPath)
  }
  return fromFile(keyPath, storeDirectory)
}

function withTpm(tpm: Tpm, { problem, keyPath, recordPath, storeDirectory }: Disk): OpenedDeviceKey {
  if (problem !== null) return { problem }
  if (existsSync(keyPath)) return fromFile(keyPath, storeDirectory)
  if (isEmpty(storeDirectory)) {
    // Objects of an interrupted first start protect no data.
    const left = existsSync(recordPath) ? readRecord(recordPath) : null
    if (left !== null && 'handle' in left) evictSealed(tpm, left)
    return makeSealed(tpm, recordPath)
  }
  if (!existsSync(recordPath)) return fromFile(keyPath, storeDirectory) // reports that it is missing
  const record = readRecord(recordPath)
  return 'problem' in record ? record : openSealed(tpm, record)
}

function fromFile(keyPath: string, storeDirectory: string): OpenedDeviceKey {
  const opened = openDeviceKey(keyPath, storeDirectory)
  return 'key' in opened ? { ...opened, counter: null } : opened
}

/** Removes this installation's objects from the TPM. If the record is unreadable, removes all objects of Coffer. */
function eraseFromTpm(record: ReturnType<typeof readRecord> | null, openTpm: OpenTpm): string | null {
  const tpm = openTpm()
  if (tpm === null) return record === null ? null : 'the TPM that holds the device key is not there'
  try {
    if (record !== null && 'handle' in record) evictSealed(tpm, record)
    else evictAll(tpm)
    return null
  } finally {
    tpm.close()
  }
}

const isEmpty = (directory: string): boolean => !existsSync(directory) || readdirSync(directory).length === 0
