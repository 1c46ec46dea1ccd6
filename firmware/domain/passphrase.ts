/** Passphrases of users: a memory-hard digest with a salt of its own. scrypt: RFC 7914; contract section 7.2. */

import nacl from 'tweetnacl'
import type { Random } from '../crypto/random.ts'
import type { CryptoPool, ScryptCost } from '../crypto/types.ts'

/** 32 MiB and about 90 ms in a worker: paid once per user and cache period, not per request. */
export const PASSPHRASE_COST: ScryptCost = { N: 2 ** 15, r: 8, p: 1 }

const SALT_BYTES = 16 // contract 7.2

export interface PassphraseDigest {
  salt: Uint8Array
  digest: Uint8Array
  cost: ScryptCost
}

export async function digestPassphrase(
  passphrase: Uint8Array,
  cost: ScryptCost,
  pool: CryptoPool,
  random: Random,
): Promise<PassphraseDigest> {
  const salt = random(SALT_BYTES)
  return { salt, digest: await pool.scrypt(passphrase, salt, cost), cost }
}

export async function matchesPassphrase(
  { salt, digest, cost }: PassphraseDigest,
  passphrase: Uint8Array,
  pool: CryptoPool,
): Promise<boolean> {
  const derived = await pool.scrypt(passphrase, salt, cost)
  try {
    return nacl.verify(derived, digest)
  } finally {
    derived.fill(0)
  }
}
