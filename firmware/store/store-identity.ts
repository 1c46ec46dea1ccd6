/** Which device a store belongs to, in clear: a one-way value of the device key, so that a foreign key is recognized. */

import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes } from '@noble/hashes/utils.js'
import type { Database } from 'better-sqlite3'
import { CofferError } from '../base/error.ts'
import { deriveSealKey, equalBytes } from '../crypto/seal.ts'

const CHECK_BYTES = 32
const CHECKSUM_BYTES = 8 // tells an edited value from that of another device

export function createIdentity(database: Database, deviceKey: Uint8Array): void {
  const check = deriveSealKey(deviceKey, 'coffer device check')
  database.prepare('INSERT INTO identity (device) VALUES (?)').run(concatBytes(check, checksum(check)))
}

/** Throws `storage` when the store belongs to another device, or the value is damaged. */
export function inspectIdentity(database: Database, deviceKey: Uint8Array): void {
  const values = database.prepare('SELECT device FROM identity LIMIT 2').pluck().all() as Uint8Array[]
  const value = values[0]
  const check = value?.subarray(0, CHECK_BYTES)
  if (values.length !== 1 || !value || !check || !equalBytes(value.subarray(CHECK_BYTES), checksum(check))) {
    throw new CofferError('storage', 'The store is damaged: its device mark cannot be read')
  }
  if (!equalBytes(check, deriveSealKey(deviceKey, 'coffer device check'))) {
    throw new CofferError('storage', 'The store belongs to another device: its device key is not the one given')
  }
}

const checksum = (check: Uint8Array): Uint8Array => sha256(check).subarray(0, CHECKSUM_BYTES)
