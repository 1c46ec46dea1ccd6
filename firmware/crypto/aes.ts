/** AES-CBC without padding by Node's OpenSSL: table AES in JavaScript would not be constant time. Contract section 6.2. */

import { type Cipheriv, createCipheriv, createDecipheriv, type Decipheriv } from 'node:crypto'
import { CofferError } from '../base/error.ts'

const BLOCK_BYTES = 16
const KEY_BYTES = [16, 24, 32]

export function encryptAesCbc(key: Uint8Array, iv: Uint8Array, message: Uint8Array): Uint8Array {
  check(key, iv, message, 'message')
  return complete(createCipheriv(cipherOf(key), key, iv), message)
}

/** Returns as many bytes as `encrypted` has: padding is up to the caller. */
export function decryptAesCbc(key: Uint8Array, iv: Uint8Array | undefined, encrypted: Uint8Array): Uint8Array {
  check(key, iv, encrypted, 'encrypted')
  return complete(createDecipheriv(cipherOf(key), key, iv), encrypted)
}

/** `final` returns nothing without padding, but frees the key schedule, which OpenSSL wipes. */
function complete(cipher: Cipheriv | Decipheriv, data: Uint8Array): Uint8Array {
  const result = cipher.setAutoPadding(false).update(data)
  cipher.final()
  return result
}

const cipherOf = (key: Uint8Array): string => `aes-${key.length * 8}-cbc`

function check(key: Uint8Array, iv: Uint8Array | undefined, data: Uint8Array, field: string): asserts iv is Uint8Array {
  if (!KEY_BYTES.includes(key.length)) {
    throw new CofferError('invalid', `key: AES needs a key of 16, 24 or 32 bytes, this one has ${key.length}`)
  }
  if (iv === undefined) throw new CofferError('invalid', 'iv: required for AES_CBC')
  if (iv.length !== BLOCK_BYTES) throw new CofferError('invalid', `iv: must have ${BLOCK_BYTES} bytes`)
  // A published client recognizes wrong lengths by the words "argument length". An empty field is refused as well: clients do not
  // accept an empty field in the answer.
  if (data.length === 0 || data.length % BLOCK_BYTES !== 0) {
    throw new CofferError('invalid', `${field}: argument length must be a positive multiple of ${BLOCK_BYTES} bytes`)
  }
}
