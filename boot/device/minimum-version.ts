/**
 * The oldest version that this device still runs: the rollback floor of a released version, once that version is good. It only
 * rises, so that an old image with a known weakness cannot return to the device although its signature is valid.
 * The record is sealed with the device key, and older versions do not get the device key. If the TPM has a counter, the counter
 * counts good starts, and the record holds its value. A restored older record belongs to an earlier start, so the key is
 * withheld. The same holds for the store, which firmware/device/last-start.ts checks. Each start first writes the next value to the
 * store, then to the record, then raises the counter, so that after a power cut record and store are never behind the counter. A
 * version on trial is not counted, since the boot manager may have to restore the store.
 */

import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { wipe } from '../../firmware/base/secret.ts'
import { deriveSealKey, seal, unseal } from '../../firmware/crypto/seal.ts'
import { isNewer, parseVersion } from '../../firmware/release/version.ts'
import type { DeviceKey } from '../base/device-key-file.ts'
import { writeDurably } from '../base/files.ts'
import type { Starts } from '../platform.ts'
import { explain, SlotConflict } from '../versions/slot-error.ts'
import type { TpmCounter } from './key/device-key.ts'

export interface MinimumVersion extends Starts {
  /** Returns the device key, or withholds it if the record excludes this version. */
  guard(deviceKey: DeviceKey): DeviceKey
  /** Throws a SlotConflict if the version is too old. */
  admit(version: string): void
  /**
   * Call it when the running version is good. Its floor holds from now on, or from the next `guard`. Throws an error of the file
   * system.
   */
  raise(): void
  /** True if the version will be too old after `raise`. */
  rulesOut(version: string): boolean
}

interface MinimumVersionOptions {
  path: string
  /**
   * With an empty store the record is made, unless one of this key exists. Otherwise the record must exist. The store is checked
   * right after the key was opened.
   */
  storeDirectory: string
  version: string
  rollbackFloor: string
  /** Null if the machine has none: then a restored older record is not detected. */
  counter: TpmCounter | null
}

interface Known {
  sealKey: Uint8Array
  minimum: string
  /** Equal to the counter's value, or ahead of it. */
  count: number | null
}

const PURPOSE = 'coffer minimum version'
// Each start that was not counted completely leaves the store one further ahead. The limit bounds the wear of the TPM at one start.
const STEPS_MAX = 16

export function createMinimumVersion(options: MinimumVersionOptions): MinimumVersion {
  const { path, storeDirectory, version, rollbackFloor, counter } = options
  const isEmpty = () => hasNothing(storeDirectory)
  /**
   * True if the store was empty when the key was opened. A store that is emptied later, such as by restoring a copy, belonged to
   * this key.
   */
  const isNew = isEmpty()
  let known: Known | null = null
  let isGood = false
  let isCounted = counter === null

  function write(next: Known): Known {
    const text = next.count === null ? next.minimum : `${next.minimum} ${next.count}`
    writeDurably(
      path,
      seal(next.sealKey, Buffer.from(text), (bytes) => randomBytes(bytes)),
    )
    known = next
    return next
  }

  function read(sealKey: Uint8Array): Known | null {
    const message = unseal(sealKey, readFileSync(path))
    const [minimum = '', count] = message === null ? [] : Buffer.from(message).toString().split(' ')
    return parseVersion(minimum) === null
      ? null
      : { sealKey, minimum, count: count === undefined ? null : Number(count) }
  }

  /** Returns the reason for withholding the key, or null. */
  function check(key: Uint8Array): string | null {
    const opened = known ?? open(key)
    if (typeof opened === 'string') return opened
    if (isNewer(opened.minimum, version)) return `version ${version} is ${tooOld(opened.minimum)}`
    if (isGood) raiseKnown()
    return null
  }

  /** Returns the record, or the reason for withholding the key. */
  function open(key: Uint8Array): Known | string {
    const sealKey = deriveSealKey(key, PURPOSE)
    const isThere = existsSync(path)
    const found = isThere ? read(sealKey) : null
    if (found !== null) {
      if (counter !== null && (found.count === null || found.count < counter.value))
        return 'the record of the oldest version allowed is of an earlier start: older data have been put back'
      known = found
      return found
    }
    if (!isNew || !isEmpty())
      return `the record of the oldest version allowed ${isThere ? 'has been changed' : 'is missing'}`
    // An existing record belongs to the previous key, of an interrupted first start without a store.
    return write({ sealKey, minimum: rollbackFloor, count: counter?.value ?? null })
  }

  function raiseKnown(): void {
    if (known !== null && isNewer(rollbackFloor, known.minimum)) write({ ...known, minimum: rollbackFloor })
  }

  const next = (): number => Math.max(known?.count ?? 0, counter?.value ?? 0) + 1

  return {
    guard: (deviceKey) => {
      if ('problem' in deviceKey) return deviceKey
      const problem = check(deviceKey.key)
      if (problem === null) return deviceKey
      wipe(deviceKey.key)
      return { problem, withheld: true }
    },
    admit: (candidate) => {
      if (known !== null && isNewer(known.minimum, candidate))
        throw new SlotConflict(`Version ${candidate} is ${tooOld(known.minimum)}`)
    },
    raise: () => {
      isGood = true
      raiseKnown()
    },
    rulesOut: (other) => isNewer(rollbackFloor, other),
    get last() {
      return counter?.value
    },
    get current() {
      return known === null ? null : { minimum: known.minimum, count: isCounted ? null : next() }
    },
    count: (held) => {
      if (known === null || counter === null || isCounted) return null
      if (held < next() || held > counter.value + STEPS_MAX)
        return `the store holds ${held}, and the TPM ${counter.value}`
      isCounted = true
      try {
        write({ ...known, count: held })
      } catch (error) {
        return explain(error)
      }
      return counter.raiseTo(held)
    },
  }
}

const tooOld = (minimum: string): string => `older than ${minimum}, the oldest that this device still runs`

/** False if the directory cannot be read: it may contain files. */
function hasNothing(directory: string): boolean {
  try {
    return readdirSync(directory).length === 0
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}
