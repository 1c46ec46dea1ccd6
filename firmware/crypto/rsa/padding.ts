/** Message encodings for RSA. RFC 8017: EMSA-PKCS1-v1_5 (9.2), EMSA-PSS (9.1), EME-PKCS1-v1_5 (7.2), EME-OAEP (7.1). */

import { md5, sha1 } from '@noble/hashes/legacy.js'
import { sha224, sha256, sha384, sha512 } from '@noble/hashes/sha2.js'
import { hexToBytes } from '@noble/hashes/utils.js'
import { wipe } from '../../base/secret.ts'
import type { HashName } from '../types.ts'

interface Hash {
  compute(message: Uint8Array): Uint8Array
  bytes: number
  /** DER before the digest in a DigestInfo, with NULL parameters (9.2 note 1). */
  digestInfo: Uint8Array
}

export const RSA_HASHES: Readonly<Record<HashName, Hash>> = {
  MD5: { compute: md5, bytes: 16, digestInfo: hexToBytes('3020300c06082a864886f70d020505000410') },
  SHA1: { compute: sha1, bytes: 20, digestInfo: hexToBytes('3021300906052b0e03021a05000414') },
  SHA224: { compute: sha224, bytes: 28, digestInfo: hexToBytes('302d300d06096086480165030402040500041c') },
  SHA256: { compute: sha256, bytes: 32, digestInfo: hexToBytes('3031300d060960864801650304020105000420') },
  SHA384: { compute: sha384, bytes: 48, digestInfo: hexToBytes('3041300d060960864801650304020205000430') },
  SHA512: { compute: sha512, bytes: 64, digestInfo: hexToBytes('3051300d060960864801650304020305000440') },
}

/** 00 01 FF .. FF 00 message; null if fewer than eight FF fit. */
export function encodePkcs1(message: Uint8Array, bytes: number): Uint8Array | null {
  if (message.length > bytes - PKCS1_OVERHEAD_BYTES) return null
  const encoded = new Uint8Array(bytes).fill(0xff)
  encoded[0] = 0
  encoded[1] = 1
  encoded[bytes - message.length - 1] = 0
  encoded.set(message, bytes - message.length)
  return encoded
}

/** Encodes into at most `bits` - 1 bits, for a modulus of `bits`. Null if the digest and the salt do not fit. */
export function encodePss(digest: Uint8Array, salt: Uint8Array, hash: Hash, bits: number): Uint8Array | null {
  const bytes = Math.ceil((bits - 1) / 8)
  if (bytes < hash.bytes + salt.length + 2) return null
  const encoded = new Uint8Array(bytes)
  const block = encoded.subarray(0, bytes - hash.bytes - 1)
  block[block.length - salt.length - 1] = 1
  block.set(salt, block.length - salt.length)
  const h = hash.compute(Uint8Array.from([...new Uint8Array(8), ...digest, ...salt]))
  xorMask(block, h, hash)
  encoded[0]! &= 0xff >> (8 * bytes - (bits - 1))
  encoded.set(h, block.length)
  encoded[bytes - 1] = 0xbc
  return encoded
}

/**
 * Message in 00 02 padding 00 message, with at least eight nonzero bytes of padding; null otherwise. The time depends on whether
 * the padding is valid, and then on the length of the message, but not on the kind of error.
 */
export function decodePkcs1(encoded: Uint8Array): Uint8Array | null {
  let wrong = encoded[0]! | (encoded[1]! ^ 2)
  let searching = -1 // all ones until the zero is found
  let separator = 0
  for (let i = 2; i < encoded.length; i++) {
    const found = searching & isZero(encoded[i]!)
    separator |= i & found
    searching &= ~found
  }
  wrong |= searching | isNegative(separator - PKCS1_OVERHEAD_BYTES + 1)
  return wrong === 0 ? encoded.slice(separator + 1) : null
}

/**
 * Message in an OAEP block with the empty label; null otherwise. Overwrites `encoded`. The time depends on the same as in
 * `decodePkcs1`.
 */
export function decodeOaep(encoded: Uint8Array, hash: Hash): Uint8Array | null {
  if (encoded.length < 2 * hash.bytes + 2) return null
  const seed = encoded.subarray(1, 1 + hash.bytes)
  const block = encoded.subarray(1 + hash.bytes)
  xorMask(seed, block, hash)
  xorMask(block, seed, hash)
  const labelHash = hash.compute(new Uint8Array())
  let wrong = encoded[0]!
  for (let i = 0; i < hash.bytes; i++) wrong |= block[i]! ^ labelHash[i]!
  let searching = -1 // all ones until the 01 is found
  let separator = 0
  for (let i = hash.bytes; i < block.length; i++) {
    const found = searching & isZero(block[i]! ^ 1)
    separator |= i & found
    searching &= ~found
    wrong |= block[i]! & searching
  }
  wrong |= searching
  return wrong === 0 ? block.slice(separator + 1) : null
}

/** Length of 00, type, eight bytes of padding, and 00. */
const PKCS1_OVERHEAD_BYTES = 11

/** All ones for 0, zero for other bytes. */
const isZero = (byte: number) => (byte - 1) >> 31

/** All ones for negative numbers, else zero. */
const isNegative = (value: number) => value >> 31

/** target ^= MGF1(seed): RFC 8017 B.2.1. */
function xorMask(target: Uint8Array, seed: Uint8Array, hash: Hash): void {
  const input = new Uint8Array(seed.length + 4)
  input.set(seed)
  for (let at = 0, counter = 0; at < target.length; at += hash.bytes, counter++) {
    input[seed.length + 3] = counter // at most 64 blocks of MD5 in 1024 bytes
    const mask = hash.compute(input)
    for (let i = 0; i < mask.length && at + i < target.length; i++) target[at + i]! ^= mask[i]!
    wipe(mask)
  }
  wipe(input)
}
