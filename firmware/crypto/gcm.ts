/** AES-256-GCM (NIST SP 800-38D), and the sealing of NetHSM backups with it. Contract sections 6.2 and 8.1. */

import { createCipheriv, createDecipheriv } from 'node:crypto'
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { wipe } from '../base/secret.ts'
import type { Random } from './random.ts'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Bytes that sealing adds to a message. */
export const GCM_OVERHEAD_BYTES = NONCE_BYTES + TAG_BYTES

/** Returns nonce, ciphertext and tag. `context` is authenticated, too. */
export function sealGcm(key: Uint8Array, context: string, message: Uint8Array, random: Random): Uint8Array {
  const nonce = random(NONCE_BYTES)
  return concatBytes(nonce, encryptGcm(key, nonce, utf8ToBytes(context), message))
}

/** Returns the message, which the caller wipes. Returns null if the key, the context or any bit differs. */
export function openGcm(key: Uint8Array, context: string, sealed: Uint8Array): Uint8Array | null {
  if (sealed.length < GCM_OVERHEAD_BYTES) return null
  return decryptGcm(key, sealed.subarray(0, NONCE_BYTES), utf8ToBytes(context), sealed.subarray(NONCE_BYTES))
}

/** Returns ciphertext and tag. */
export function encryptGcm(
  key: Uint8Array,
  nonce: Uint8Array,
  associatedData: Uint8Array,
  message: Uint8Array,
): Uint8Array {
  const cipher = untraced(() => createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }))
  cipher.setAAD(associatedData)
  return concatBytes(cipher.update(message), cipher.final(), cipher.getAuthTag())
}

/** As `openGcm`, for ciphertext and tag. */
export function decryptGcm(
  key: Uint8Array,
  nonce: Uint8Array,
  associatedData: Uint8Array,
  encrypted: Uint8Array,
): Uint8Array | null {
  if (encrypted.length < TAG_BYTES) return null
  const tagAt = encrypted.length - TAG_BYTES
  const decipher = untraced(() => createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }))
  decipher.setAAD(associatedData).setAuthTag(encrypted.subarray(tagAt))
  const message = decipher.update(encrypted.subarray(0, tagAt))
  try {
    decipher.final()
    return new Uint8Array(message.buffer, message.byteOffset, message.length)
  } catch {
    wipe(message)
    return null
  }
}

/**
 * Node 24 throws an exception internally, twice, to test whether a key in bytes is a key object. Without stack traces this takes
 * a third of the time. A key object is no alternative: its copy of the key is left to the garbage collector.
 */
export function untraced<T>(make: () => T): T {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    return make()
  } finally {
    Error.stackTraceLimit = limit
  }
}
