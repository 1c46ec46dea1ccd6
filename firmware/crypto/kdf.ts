/** Derives keys from passphrases: scrypt, RFC 7914. Contract section 7.2. */

import { pbkdf2 } from '@noble/hashes/pbkdf2.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { CofferError } from '../base/error.ts'
import { wipe } from '../base/secret.ts'
import { mixBlocks } from './engine/scrypt.ts'
import type { ScryptCost } from './types.ts'

const KEY_BYTES = 32
// Stored costs come from the disk or a backup: damaged values must not exhaust memory or time.
const MEMORY_BYTES_MAX = 32 * 1024 * 1024 // N = 2^15, r = 8: the largest cost that any version has stored
const P_MAX = 64

/** Takes tenths of a second: call it in worker threads only. */
export function deriveKey(passphrase: Uint8Array, salt: Uint8Array, { N, r, p }: ScryptCost): Uint8Array {
  const valid = [N, r, p].every((n) => Number.isSafeInteger(n) && n > 0) && N > 1 && Number.isInteger(Math.log2(N))
  if (!valid || 128 * N * r > MEMORY_BYTES_MAX || p > P_MAX) {
    throw new CofferError('invalid', 'Unacceptable scrypt parameters')
  }
  const blocks = pbkdf2(sha256, passphrase, salt, { c: 1, dkLen: 128 * r * p })
  try {
    mixBlocks(blocks, N, r)
    return pbkdf2(sha256, passphrase, blocks, { c: 1, dkLen: KEY_BYTES })
  } finally {
    wipe(blocks)
  }
}
