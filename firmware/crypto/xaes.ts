/**
 * XAES-256-GCM (C2SP): AES-256-GCM under a key that is derived from the key and the first half of a random 192-bit nonce, so that 2^80
 * messages may be encrypted. The derivation is that of NIST SP 800-108r1, counter mode with CMAC. Contract section 6.2.
 */

import { createCipheriv } from 'node:crypto'
import { CofferError } from '../base/error.ts'
import { newSecret, wipe } from '../base/secret.ts'
import { decryptGcm, encryptGcm, untraced } from './gcm.ts'

export const XAES_KEY_BYTES = 32
export const XAES_NONCE_BYTES = 24
const DERIVED_FROM_BYTES = 12 // the rest of the nonce is that of GCM
const BLOCK_BYTES = 16

/** The same text for each difference in key, nonce, tag, message or associated data: contract section 6.2. */
const NOT_AUTHENTIC = 'cipher: message authentication failed'

const NOTHING = new Uint8Array()

export interface XaesKey {
  /** Returns ciphertext and tag. */
  encrypt(nonce: Uint8Array, message: Uint8Array, associatedData?: Uint8Array): Uint8Array
  /** Throws `invalid` unless every bit is as `encrypt` left it. */
  decrypt(nonce: Uint8Array, encrypted: Uint8Array, associatedData?: Uint8Array): Uint8Array
  /** Does not wipe the bytes given to `openXaes`. */
  wipe(): void
}

/** Uses the bytes until `wipe`, without a copy. */
export function openXaes(key: Uint8Array): XaesKey {
  if (key.length !== XAES_KEY_BYTES)
    throw new CofferError('invalid', `key: XAES needs a key of ${XAES_KEY_BYTES} bytes, this one has ${key.length}`)
  const k1 = firstSubkey(key)
  return {
    encrypt: (nonce, message, associatedData = NOTHING) =>
      withDerived(key, k1, nonce, (derived, rest) => encryptGcm(derived, rest, associatedData, message)),
    decrypt: (nonce, encrypted, associatedData = NOTHING) => {
      const message = withDerived(key, k1, nonce, (derived, rest) =>
        decryptGcm(derived, rest, associatedData, encrypted),
      )
      if (message === null) throw new CofferError('invalid', NOT_AUTHENTIC)
      return message
    },
    wipe: () => wipe(k1),
  }
}

function withDerived<T>(
  key: Uint8Array,
  k1: Uint8Array,
  nonce: Uint8Array,
  use: (derived: Uint8Array, rest: Uint8Array) => T,
): T {
  if (nonce.length !== XAES_NONCE_BYTES) throw new CofferError('invalid', `iv: must have ${XAES_NONCE_BYTES} bytes`)
  const blocks = newSecret(2 * BLOCK_BYTES)
  for (const counter of [1, 2]) {
    const at = (counter - 1) * BLOCK_BYTES
    blocks.set([0, counter, LABEL, 0], at)
    blocks.set(nonce.subarray(0, DERIVED_FROM_BYTES), at + BLOCK_BYTES - DERIVED_FROM_BYTES)
    for (let i = 0; i < BLOCK_BYTES; i++) blocks[at + i] = (blocks[at + i] ?? 0) ^ (k1[i] ?? 0)
  }
  const derived = encryptBlocks(key, blocks)
  try {
    return use(derived, nonce.subarray(DERIVED_FROM_BYTES))
  } finally {
    wipe(blocks, derived)
  }
}

const LABEL = 0x58 // X

/** K1 of NIST SP 800-38B section 6.1. */
function firstSubkey(key: Uint8Array): Uint8Array {
  const l = encryptBlocks(key, new Uint8Array(BLOCK_BYTES))
  const k1 = newSecret(BLOCK_BYTES)
  for (let i = 0; i < BLOCK_BYTES; i++) k1[i] = ((l[i] ?? 0) << 1) | ((l[i + 1] ?? 0) >> 7)
  k1[BLOCK_BYTES - 1] = (k1[BLOCK_BYTES - 1] ?? 0) ^ (0x87 & -((l[0] ?? 0) >> 7))
  wipe(l)
  return k1
}

function encryptBlocks(key: Uint8Array, blocks: Uint8Array): Uint8Array {
  const cipher = untraced(() => createCipheriv('aes-256-ecb', key, null)).setAutoPadding(false)
  const result = cipher.update(blocks)
  cipher.final() // frees the key schedule, which OpenSSL wipes
  return result
}
