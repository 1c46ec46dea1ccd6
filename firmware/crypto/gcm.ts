/** Sealing as a NetHSM does it, for its backups: AES-256-GCM (NIST SP 800-38D) with a random nonce. Contract section 8.1. */

import { createCipheriv, createDecipheriv } from 'node:crypto'
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { wipe } from '../base/secret.ts'
import type { Random } from './random.ts'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** What a sealed message is longer than the message. */
export const GCM_OVERHEAD_BYTES = NONCE_BYTES + TAG_BYTES

/** Nonce, ciphertext, tag. `context` is authenticated with it. */
export function sealGcm(key: Uint8Array, context: string, message: Uint8Array, random: Random): Uint8Array {
  const nonce = random(NONCE_BYTES)
  const cipher = untraced(() => createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }))
  cipher.setAAD(utf8ToBytes(context))
  return concatBytes(nonce, cipher.update(message), cipher.final(), cipher.getAuthTag())
}

/** The message, which the caller wipes, or null when key, context or any bit is another one. */
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
 * Node 24 asks by an exception whether a key in bytes is one of its objects, twice. Without its stack trace, what it makes
 * of a key takes a third of the time. An object is no way out: it leaves its copy of the key to the collector.
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
