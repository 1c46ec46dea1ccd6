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
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(utf8ToBytes(context))
  return concatBytes(nonce, cipher.update(message), cipher.final(), cipher.getAuthTag())
}

/** The message, which the caller wipes, or null when key, context or any bit is another one. */
export function openGcm(key: Uint8Array, context: string, sealed: Uint8Array): Uint8Array | null {
  if (sealed.length < GCM_OVERHEAD_BYTES) return null
  const tagAt = sealed.length - TAG_BYTES
  const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
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
