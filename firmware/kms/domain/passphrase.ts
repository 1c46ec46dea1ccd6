/** Digests of passphrases: scrypt (RFC 7914) with a salt per user. Contract section 7.2. */

import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import nacl from 'tweetnacl'
import { wipe } from '../../base/secret.ts'
import type { Random } from '../../crypto/random.ts'
import type { CryptoPool, ScryptCost } from '../../crypto/types.ts'

/** Length of a new passphrase in UTF-8. Contract section 4.1. */
export const PASSPHRASE_BYTES_MIN = 10
export const PASSPHRASE_BYTES_MAX = 200

/** 32 MiB and about 90 ms in a worker, paid once per user and cache period. */
export const PASSPHRASE_COST: ScryptCost = { N: 2 ** 15, r: 8, p: 1 }

const SALT_BYTES = 16 // contract 7.2

export interface PassphraseDigest {
  salt: Uint8Array
  digest: Uint8Array
  /** `hmac`: HMAC-SHA-256 of a NetHSM backup, replaced at the next login. Contract section 8.2. */
  cost: ScryptCost | 'hmac'
  /** Set if this digest replaced one of a NetHSM, for the same passphrase. */
  isRenewed?: true
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
  { salt, digest, cost }: PassphraseDigest & { cost: ScryptCost },
  passphrase: Uint8Array,
  pool: CryptoPool,
): Promise<boolean> {
  const derived = await pool.scrypt(passphrase, salt, cost)
  try {
    return nacl.verify(derived, digest)
  } finally {
    wipe(derived)
  }
}

/** Returns the replacement of an `hmac` digest, or null for a wrong passphrase. Both take the same time. */
export async function renewDigest(
  { salt, digest }: PassphraseDigest,
  passphrase: Uint8Array,
  cost: ScryptCost,
  pool: CryptoPool,
  random: Random,
): Promise<PassphraseDigest | null> {
  const right = nacl.verify(hmac(sha256, salt, passphrase), digest)
  const renewed = await digestPassphrase(passphrase, cost, pool, random)
  return right ? { ...renewed, isRenewed: true } : null
}
