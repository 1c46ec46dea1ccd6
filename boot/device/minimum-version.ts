/**
 * The oldest version that this device still runs: what a released version says of itself once it is good. It can only
 * rise, so that an old image with a known weakness, signed as it is, has no way back onto the device.
 *
 * The record is sealed by the device key, and the device key is not given to a version that is older. Where the TPM has a
 * counter, it counts the starts that were good, and the record holds its value: one that was put back is of an earlier
 * start, and nobody gets the key. So it is with the store, which firmware/last-start.ts looks after. Each start goes in
 * this order, so that a power cut leaves record and store at the counter or ahead of it, never behind: the store takes the
 * next value, then the record, then the counter. On trial nothing is counted: the store may have to be put back by us.
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
  /** The device key, unless the record stands against it. */
  guard(deviceKey: DeviceKey): DeviceKey
  /** Throws a SlotConflict for a version that is too old. */
  admit(version: string): void
  /** What runs is good: its floor holds from now on, or from the next `guard` on. Throws an error of the file system. */
  raise(): void
  /** Whether this version is too old once `raise` was called. */
  rulesOut(version: string): boolean
}

interface MinimumVersionOptions {
  path: string
  /** Without a store the record is made, unless there is one of this key; with one it has to be there. Looked at right after the key was taken out. */
  storeDirectory: string
  /** What runs. */
  version: string
  rollbackFloor: string
  /** Null: a record that was put back goes unnoticed. */
  counter: TpmCounter | null
}

interface Known {
  sealKey: Uint8Array
  minimum: string
  /** At the counter's value, or ahead of it. */
  count: number | null
}

const PURPOSE = 'coffer minimum version'
// Each start that was not counted to its end leaves the store one further ahead. It bounds what a start wears of the TPM.
const STEPS_MAX = 16

export function createMinimumVersion(options: MinimumVersionOptions): MinimumVersion {
  const { path, storeDirectory, version, rollbackFloor, counter } = options
  const isEmpty = () => hasNothing(storeDirectory)
  /** When the key was taken out. A store that is emptied later, as by a copy that is put back, was one of this key. */
  const isNew = isEmpty()
  /** Set by the first `guard`. */
  let known: Known | null = null
  let isGood = false
  let isCounted = counter === null

  function write(next: Known): void {
    const text = next.count === null ? next.minimum : `${next.minimum} ${next.count}`
    writeDurably(
      path,
      seal(next.sealKey, Buffer.from(text), (bytes) => randomBytes(bytes)),
    )
    known = next
  }

  function read(sealKey: Uint8Array): Known | null {
    const message = unseal(sealKey, readFileSync(path))
    const [minimum = '', count] = message === null ? [] : Buffer.from(message).toString().split(' ')
    return parseVersion(minimum) === null
      ? null
      : { sealKey, minimum, count: count === undefined ? null : Number(count) }
  }

  /** What stands against giving the key. */
  function check(key: Uint8Array): string | null {
    if (known === null) {
      const sealKey = deriveSealKey(key, PURPOSE)
      const isThere = existsSync(path)
      const found = isThere ? read(sealKey) : null
      if (found !== null) {
        if (counter !== null && (found.count === null || found.count < counter.value))
          return 'the record of the oldest version allowed is of an earlier start: older data have been put back'
        known = found
      } else if (isNew && isEmpty()) {
        // One that is there is of the key before, which a start that was interrupted has left without a store.
        write({ sealKey, minimum: rollbackFloor, count: counter?.value ?? null })
      } else return `the record of the oldest version allowed ${isThere ? 'has been changed' : 'is missing'}`
    }
    if (isNewer(known!.minimum, version)) return `version ${version} is ${tooOld(known!.minimum)}`
    if (isGood) raiseKnown()
    return null
  }

  function raiseKnown(): void {
    if (known !== null && isNewer(rollbackFloor, known.minimum)) write({ ...known, minimum: rollbackFloor })
  }

  const next = (): number => Math.max(known!.count!, counter!.value) + 1

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

/** What cannot be read may hold something. */
function hasNothing(directory: string): boolean {
  try {
    return readdirSync(directory).length === 0
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}
