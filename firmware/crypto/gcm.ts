/** Sealing for NetHSM backups: AES-256-GCM (NIST SP 800-38D) with a random nonce. Contract section 8.1. */

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
  const cipher = untraced(() => createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }))
  cipher.setAAD(utf8ToBytes(context))
  return concatBytes(nonce, cipher.update(message), cipher.final(), cipher.getAuthTag())
}

/** Returns the message, which the caller wipes. Returns null if the key, the context or any bit differs. */
export function openGcm(key: Uint8Array, context: string, sealed: Uint8Array): Uint8Array | null {
  if (sealed.length < GCM_OVERHEAD_BYTES) return null
  const tagAt = sealed.length - TAG_BYTES
  const nonce = sealed.subarray(0, NONCE_BYTES)
  const decipher = untraced(() => createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }))
  decipher.setAAD(utf8ToBytes(context)).setAuthTag(sealed.subarray(tagAt))
  const message = decipher.update(sealed.subarray(NONCE_BYTES, tagAt))
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
function untraced<T>(make: () => T): T {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    return make()
  } finally {
    Error.stackTraceLimit = limit
  }
}
