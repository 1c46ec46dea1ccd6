/** BIP-340: Schnorr signatures on secp256k1, of messages of any length. */

import { hash } from 'node:crypto'
import { sha256 } from '@noble/hashes/sha2.js'
import { wipe } from '../../../base/secret.ts'
import type { BasePoint } from './base-point.ts'
import { Kept } from './kept.ts'
import { isZero, select } from './masks.ts'

export interface Bip340Key {
  /** `aux`: 32 random bytes. */
  sign(message: Uint8Array, aux: Uint8Array): Uint8Array
  wipe(): void
}

/** Of a scalar from 1 to n - 1, which stays the caller's. */
export function openBip340(base: BasePoint, secret: Uint8Array): Bip340Key {
  const { scalar, x } = base.use(() => withEvenPoint(base, secret))
  const key = new Kept(scalar, x)
  wipe(scalar)
  return {
    sign: (message, aux) => key.use((bytes) => sign(base, bytes, message, aux)),
    wipe: () => key.wipe(),
  }
}

/** `key`: the scalar of an even point, and its x. */
function sign(base: BasePoint, key: Uint8Array, message: Uint8Array, aux: Uint8Array): Uint8Array {
  const [d, publicX] = [key.subarray(0, BYTES), key.subarray(BYTES)]
  const masked = taggedHash(AUX, aux)
  for (let i = 0; i < masked.length; i++) masked[i]! ^= d[i]!
  const drawnHash = taggedHash(NONCE, masked, publicX, message)
  wipe(masked)
  return base.use(() => {
    const drawn = base.reduce(drawnHash)
    wipe(drawnHash)
    if (isZero(drawn)) throw new Error('a nonce of zero') // as improbable as to guess the key
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

/** The scalar or its opposite, whichever's point has an even y, and that point's x. */
function withEvenPoint(base: BasePoint, scalar: Uint8Array): { scalar: Uint8Array; x: Uint8Array } {
  const { x, y, inverse } = base.multiply(scalar)
  const opposite = base.negate(scalar)
  const chosen = select(y[y.length - 1]! & 1, opposite, scalar)
  wipe(y, inverse, opposite)
  return { scalar: chosen, x }
}

type Tag = ReturnType<typeof sha256.create>

const hashOfName = (name: string): Uint8Array => sha256(new TextEncoder().encode(`BIP0340/${name}`))

/** The state after the hash of the tag, twice. */
function tag(name: string): Tag {
  const hash = hashOfName(name)
  return sha256.create().update(hash).update(hash)
}

const [AUX, NONCE] = [tag('aux'), tag('nonce')]

/** A nonce may be any; the challenge must be right, so its constants are kept twice, and those of SHA-256 are OpenSSL's code. */
const CHALLENGE = new Kept(hashOfName('challenge'), hashOfName('challenge'))

function taggedHash(tag: Tag, ...parts: Uint8Array[]): Uint8Array {
  const hash = tag.clone()
  for (const part of parts) hash.update(part)
  const digest = hash.digest()
  hash.destroy()
  return digest
}
