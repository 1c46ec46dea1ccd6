/** BIP-340: Schnorr signatures on secp256k1, for messages of any length. */

import { hash } from 'node:crypto'
import { sha256 } from '@noble/hashes/sha2.js'
import { wipe } from '../../../base/secret.ts'
import type { BasePoint } from './base-point.ts'
import { Kept } from './kept.ts'
import { isZero, select } from './masks.ts'

export interface Bip340Key {
  /** `aux` has 32 random bytes. */
  sign(message: Uint8Array, aux: Uint8Array): Uint8Array
  wipe(): void
}

/** `secret` is a scalar, 1 <= secret < n. The function copies it. */
export function openBip340(base: BasePoint, secret: Uint8Array): Bip340Key {
  const { scalar, x } = base.use(() => withEvenPoint(base, secret))
  const key = new Kept(scalar, x)
  wipe(scalar)
  return {
    sign: (message, aux) => key.use((bytes) => sign(base, bytes, message, aux)),
    wipe: () => key.wipe(),
  }
}

/** `key` is the scalar of a point with even y, and the point's x. */
function sign(base: BasePoint, key: Uint8Array, message: Uint8Array, aux: Uint8Array): Uint8Array {
  const [d, publicX] = [key.subarray(0, BYTES), key.subarray(BYTES)]
  const masked = taggedHash(AUX, aux)
  for (let i = 0; i < masked.length; i++) masked[i]! ^= d[i]!
  const drawnHash = taggedHash(NONCE, masked, publicX, message)
  wipe(masked)
  return base.use(() => {
    const drawn = base.reduce(drawnHash)
    wipe(drawnHash)
    if (isZero(drawn)) throw new Error('a nonce of zero') // as improbable as guessing the key
    const { scalar: k, x } = withEvenPoint(base, drawn)
    const e = base.reduce(
      CHALLENGE.use((prefix) => hash('sha256', Buffer.concat([prefix, x, publicX, message]), 'buffer')),
    )
    const s = base.multiplyAdd(e, d, k)
    wipe(drawn, k)
    return Uint8Array.from([...x, ...s])
  })
}

const BYTES = 32

/** Negates the scalar if its point has an odd y. Returns the scalar and the point's x. */
function withEvenPoint(base: BasePoint, scalar: Uint8Array): { scalar: Uint8Array; x: Uint8Array } {
  const { x, y, inverse } = base.multiply(scalar)
  const opposite = base.negate(scalar)
  const chosen = select(y[y.length - 1]! & 1, opposite, scalar)
  wipe(y, inverse, opposite)
  return { scalar: chosen, x }
}

type Tag = ReturnType<typeof sha256.create>

const hashOfName = (name: string): Uint8Array => sha256(new TextEncoder().encode(`BIP0340/${name}`))

/** Hash state after two copies of the tag's hash. */
function tag(name: string): Tag {
  const hash = hashOfName(name)
  return sha256.create().update(hash).update(hash)
}

const [AUX, NONCE] = [tag('aux'), tag('nonce')]

/** Errors in a nonce are harmless, but errors in the challenge are not. So its constants are stored twice, and its SHA-256 is OpenSSL's. */
const CHALLENGE = new Kept(hashOfName('challenge'), hashOfName('challenge'))

function taggedHash(tag: Tag, ...parts: Uint8Array[]): Uint8Array {
  const hash = tag.clone()
  for (const part of parts) hash.update(part)
  const digest = hash.digest()
  hash.destroy()
  return digest
}
