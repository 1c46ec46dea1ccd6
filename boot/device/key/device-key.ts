/**
 * Where the device keeps its device key: sealed in the TPM, or in a 0600 file on the data partition where there was none
 * at the first start.
 *
 * It is opened once, when the boot manager starts; then register 15 is closed, and until the next start of the machine
 * the TPM gives it to nobody, whatever runs. A firmware that is started again gets it from our memory.
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

/** Counts up, and nobody counts back. */
export interface TpmCounter {
  readonly value: number
  /** Says what stood against it. */
  raiseTo(value: number): string | null
}

export interface DeviceKeys {
  /** That of the TPM which gave the key; null where the key is in a file, or the TPM has made none with it. */
  readonly counter: TpmCounter | null
  /** Asked at each start of the firmware. The caller wipes it. */
  open(): DeviceKey
  /** Part of a factory reset, with the data partition still mounted: nothing opens what was sealed. Says what stood against it. */
  erase(): string | null
  /** Forgets the key, at the end of the boot manager. */
  wipe(): void
}

/** Null when the machine has none. */
type OpenTpm = () => Tpm | null

const TPM_DEVICE = '/dev/tpmrm0'

interface DeviceKeysOptions {
  /** Why the data partition cannot be used: then no key is made. */
  problem?: string | null
  openTpm?: OpenTpm
}

/** Makes the key when the store is still empty. */
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
 * Part of a factory reset, with the data partition mounted where that is possible; the TPM's part goes first: without it
 * the rest is noise. Says what stood against it.
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
  /** Of what the TPM keeps for us. */
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
        closeRegister(tpm) // also when there was nothing to open: another installation's key may be in this TPM
      } finally {
        tpm.close()
      }
    }
    return key
  } catch (error) {
    if (key !== null && 'key' in key) wipe(key.key) // nobody gets it while the register is open
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
    // Whatever a start that was interrupted has left behind opens nothing.
    const left = existsSync(recordPath) ? readRecord(recordPath) : null
    if (left !== null && 'handle' in left) evictSealed(tpm, left)
    return makeSealed(tpm, recordPath)
  }
  if (!existsSync(recordPath)) return fromFile(keyPath, storeDirectory) // says that it is missing
  const record = readRecord(recordPath)
  return 'problem' in record ? record : openSealed(tpm, record)
}

function fromFile(keyPath: string, storeDirectory: string): OpenedDeviceKey {
  const opened = openDeviceKey(keyPath, storeDirectory)
  return 'key' in opened ? { ...opened, counter: null } : opened
}

/** When the disk no longer says which one is ours, all that Coffer keeps in this TPM go. */
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
