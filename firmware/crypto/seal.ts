/** Seals with XSalsa20-Poly1305 (NaCl's secretbox), and derives keys for it with HKDF-SHA-256 (RFC 5869). */

import { hkdf } from '@noble/hashes/hkdf.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import nacl from 'tweetnacl'
import { newSecret, wipe } from '../base/secret.ts'
import type { Random } from './random.ts'

export const SEAL_KEY_BYTES = 32
const NONCE_BYTES = 24 // long enough for random nonces for any number of records
const TAG_BYTES = 16
const PAD_BYTES = 32 // zero bytes that NaCl's interface requires before the message

const scratch = new Uint8Array(4096) // buffer for sealed bytes; never contains secrets

export const SEAL_OVERHEAD_BYTES = NONCE_BYTES + TAG_BYTES

/** Returns a random nonce followed by the box. */
export function seal(key: Uint8Array, message: Uint8Array, random: Random): Uint8Array {
  expectKey(key)
  const padded = newSecret(PAD_BYTES + message.length)
  const box = new Uint8Array(padded.length)
  const nonce = random(NONCE_BYTES)
  try {
    padded.set(message, PAD_BYTES)
    lowlevel.crypto_secretbox(box, padded, padded.length, nonce, key)
  } finally {
    wipe(padded)
  }
  const boxOffset = PAD_BYTES - TAG_BYTES
  const sealed = new Uint8Array(NONCE_BYTES + box.length - boxOffset)
  sealed.set(nonce)
  sealed.set(box.subarray(boxOffset), NONCE_BYTES)
  return sealed
}

/**
 * Returns the message, or null if the key or any bit differs. Uses `room` if it is given and long enough for the message and a
 * few more bytes, else memory of its own.
 */
export function unseal(key: Uint8Array, sealed: Uint8Array, room?: Uint8Array): Uint8Array | null {
  expectKey(key)
  if (sealed.length < SEAL_OVERHEAD_BYTES) return null
  const bytes = PAD_BYTES + sealed.length - SEAL_OVERHEAD_BYTES
  const box = sealed.length <= scratch.length ? scratch : new Uint8Array(sealed.length)
  box.set(sealed)
  const begin = SEAL_OVERHEAD_BYTES - PAD_BYTES
  box.fill(0, begin, SEAL_OVERHEAD_BYTES)
  const padded = room !== undefined && bytes <= room.length ? room : newSecret(bytes)
  // One run of the stream yields the key of the tag, from the zero bytes, and the message. secretbox_open needs two runs.
  lowlevel.crypto_stream_xor(padded, 0, box, begin, bytes, sealed, key)
  const wrong = lowlevel.crypto_onetimeauth_verify(
    sealed,
    NONCE_BYTES,
    sealed,
    SEAL_OVERHEAD_BYTES,
    bytes - PAD_BYTES,
    padded,
  )
  padded.fill(0, 0, wrong === 0 ? PAD_BYTES : bytes)
  return wrong === 0 ? padded.subarray(PAD_BYTES, bytes) : null
}

/** Derives a key for one purpose, independent of those for other purposes. */
export const deriveSealKey = (secret: Uint8Array, purpose: string): Uint8Array =>
  hkdf(sha256, secret, undefined, utf8ToBytes(purpose), SEAL_KEY_BYTES)

/** Compares in constant time for arguments of equal length. */
export const equalBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && (a.length === 0 || nacl.verify(a, b))

function expectKey(key: Uint8Array): void {
  if (key.length !== SEAL_KEY_BYTES) throw new TypeError(`key must have ${SEAL_KEY_BYTES} bytes`)
}

// The public secretbox leaves a copy of the message that cannot be wiped, and copies byte by byte.
const { lowlevel } = nacl as unknown as {
  lowlevel: {
    crypto_secretbox(box: Uint8Array, padded: Uint8Array, bytes: number, nonce: Uint8Array, key: Uint8Array): 0
    /** XSalsa20. */
    crypto_stream_xor(
      to: Uint8Array,
      toBegin: number,
      from: Uint8Array,
      begin: number,
      bytes: number,
      nonce: Uint8Array,
      key: Uint8Array,
    ): 0
    /** Poly1305. Only the first bytes of nonce and key are used. */
    crypto_onetimeauth_verify(
      tag: Uint8Array,
      tagBegin: number,
      from: Uint8Array,
      begin: number,
      bytes: number,
      key: Uint8Array,
    ): 0 | -1
  }
}
