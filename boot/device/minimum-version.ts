/**
 * The oldest version that this device still runs: what a released version says of itself once it is good. It can only
 * rise, so that an old image with a known weakness, signed as it is, has no way back onto the device.
 *
 * The record is sealed by the device key, and the device key is not given to a version that is older.
 */

import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { wipe } from '../../firmware/base/secret.ts'
import { deriveSealKey, seal, unseal } from '../../firmware/crypto/seal.ts'
import { isNewer, parseVersion } from '../../firmware/release/version.ts'
import type { DeviceKey } from '../base/device-key-file.ts'
import { writeDurably } from '../base/files.ts'
import { SlotConflict } from '../versions/slot-error.ts'

export interface MinimumVersion {
  /** The device key, unless the record stands against it. */
  guard(deviceKey: DeviceKey): DeviceKey
  /** Throws a SlotConflict for a version that is too old. */
  admit(version: string): void
  /** What runs is good: its floor holds from now on, or from the next `guard` on. Throws an error of the file system. */
  raise(): void
}

export interface MinimumVersionOptions {
  path: string
  /** Without a store the record is made; with one it has to be there. */
  storeDirectory: string
  /** What runs. */
  version: string
  rollbackFloor: string
}

const PURPOSE = 'coffer minimum version'

export function createMinimumVersion(options: MinimumVersionOptions): MinimumVersion {
  const { path, storeDirectory, version, rollbackFloor } = options
  /** Set by the first `guard`. */
  let known: { sealKey: Uint8Array; minimum: string } | null = null

  let isGood = false

  function write(sealKey: Uint8Array, minimum: string): void {
    writeDurably(
      path,
      seal(sealKey, Buffer.from(minimum), (bytes) => randomBytes(bytes)),
    )
    known = { sealKey, minimum }
  }

  function read(sealKey: Uint8Array): string | null {
    const message = unseal(sealKey, readFileSync(path))
    const text = message === null ? '' : Buffer.from(message).toString()
    return parseVersion(text) === null ? null : text
  }

  /** What stands against giving the key. */
  function check(key: Uint8Array): string | null {
    if (known === null) {
      const sealKey = deriveSealKey(key, PURPOSE)
      if (existsSync(path)) {
        const minimum = read(sealKey)
        if (minimum === null) return 'the record of the oldest version allowed has been changed'
        known = { sealKey, minimum }
      } else if (existsSync(storeDirectory) && readdirSync(storeDirectory).length > 0)
        return 'the record of the oldest version allowed is missing'
      else write(sealKey, rollbackFloor)
    }
    if (isNewer(known!.minimum, version)) return `version ${version} is ${tooOld(known!.minimum)}`
    if (isGood) raiseKnown()
    return null
  }

  function raiseKnown(): void {
    if (known !== null && isNewer(rollbackFloor, known.minimum)) write(known.sealKey, rollbackFloor)
  }

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
  }
}

const tooOld = (minimum: string): string => `older than ${minimum}, the oldest that this device still runs`
