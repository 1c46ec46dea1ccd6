/** Key derivation of 256 bits with SHA-256, which is one block. TPM 2.0 Library Part 1, 11.4.10. */

import { createHash, createHmac } from 'node:crypto'
import { u32 } from './bytes.ts'

const BLOCK = u32(1)
const BITS = u32(256)
const END_OF_LABEL = Uint8Array.of(0)

/** Derives from a secret: SP 800-108 in counter mode with HMAC. */
export const kdfa = (key: Uint8Array, label: string, contextU: Uint8Array, contextV: Uint8Array): Uint8Array =>
  createHmac('sha256', key)
    .update(BLOCK)
    .update(label)
    .update(END_OF_LABEL)
    .update(contextU)
    .update(contextV)
    .update(BITS)
    .digest()

/** Derives from the shared point of a Diffie-Hellman exchange: concatenation KDF of SP 800-56A. */
export const kdfe = (sharedX: Uint8Array, label: string, partyU: Uint8Array, partyV: Uint8Array): Uint8Array =>
  createHash('sha256')
    .update(BLOCK)
    .update(sharedX)
    .update(label)
    .update(END_OF_LABEL)
    .update(partyU)
    .update(partyV)
    .digest()
