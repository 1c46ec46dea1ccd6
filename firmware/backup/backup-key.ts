/** The key that seals backups, derived when its passphrase is set. Contract sections 3.4, 7.2 and 8.1. */

import { concatBytes } from '@noble/hashes/utils.js'
import { CofferError } from '../base/error.ts'
import { wipe } from '../base/secret.ts'
import type { Random } from '../crypto/random.ts'
import { equalBytes, SEAL_KEY_BYTES } from '../crypto/seal.ts'
import type { CryptoPool, ScryptCost } from '../crypto/types.ts'
import type { Records } from '../kms/domain/collections.ts'
import { SALT_BYTES } from './container.ts'

const NAME = 'backup key'

/** Costs of deriving it, contract section 7.2: they belong to the version of the container. */
export const BACKUP_COST: ScryptCost = { N: 16384, r: 8, p: 16 }

export interface BackupKey {
  salt: Uint8Array
  key: Uint8Array
}

export interface Derivation {
  pool: Pick<CryptoPool, 'scrypt'>
  cost: ScryptCost
}

/** Null before a passphrase was set. The caller wipes the key. */
export function readBackupKey(records: Records): BackupKey | null {
  const value = records.get('configuration', NAME)
  if (value === null) return null
  if (value.length !== SALT_BYTES + SEAL_KEY_BYTES) throw new CofferError('storage', 'The backup key is damaged')
  const key = value.slice(SALT_BYTES)
  wipe(value.subarray(SALT_BYTES))
  return { salt: value.slice(0, SALT_BYTES), key }
}

/** Throws `forbidden` when it is not the current passphrase; before one was set, nothing but the empty one is. */
export async function checkBackupPassphrase(
  records: Records,
  passphrase: Uint8Array,
  { pool, cost }: Derivation,
): Promise<void> {
  const current = readBackupKey(records)
  let right = current === null && passphrase.length === 0
  if (current !== null) {
    const key = await pool.scrypt(passphrase, current.salt, cost)
    right = equalBytes(key, current.key)
    wipe(key, current.key)
  }
  if (!right) throw new CofferError('forbidden', 'Wrong passphrase')
}

export async function setBackupPassphrase(
  records: Records,
  passphrase: Uint8Array,
  { pool, cost }: Derivation,
  random: Random,
): Promise<void> {
  const salt = random(SALT_BYTES)
  const key = await pool.scrypt(passphrase, salt, cost)
  const change = backupKeyChange(salt, key)
  try {
    await records.change(() => ({ changes: [change], result: undefined }))
  } finally {
    wipe(key, change.value)
  }
}

/** The stored form of a backup key; the caller wipes it. */
export const backupKeyChange = (salt: Uint8Array, key: Uint8Array) =>
  ({ collection: 'configuration', name: NAME, value: concatBytes(salt, key) }) as const
