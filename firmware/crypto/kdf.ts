/** Keys from passphrases: scrypt, RFC 7914. Contract section 7.2. */

import { scrypt } from '@noble/hashes/scrypt.js'
import { CofferError } from '../error.ts'
import type { ScryptCost } from './types.ts'

const KEY_BYTES = 32
// Stored costs come from the disk or from a backup: a damaged one must not exhaust memory or time.
const MEMORY_BYTES_MAX = 128 * 1024 * 1024 // four times what N = 2^15, r = 8 needs
const P_MAX = 64

/** Takes tenths of a second: for worker threads only. */
export function deriveKey(passphrase: Uint8Array, salt: Uint8Array, { N, r, p }: ScryptCost): Uint8Array {
  const valid = [N, r, p].every((n) => Number.isSafeInteger(n) && n > 0) && N > 1 && Number.isInteger(Math.log2(N))
  if (!valid || 128 * N * r > MEMORY_BYTES_MAX || p > P_MAX) {
    throw new CofferError('invalid', 'Unacceptable costs of scrypt')
  }
  return scrypt(passphrase, salt, { N, r, p, dkLen: KEY_BYTES, maxmem: 2 * MEMORY_BYTES_MAX })
}
