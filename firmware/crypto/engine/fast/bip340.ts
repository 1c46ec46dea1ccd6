/** BIP-340: Schnorr signatures on secp256k1, of messages of any length. */

import { sha256 } from '@noble/hashes/sha2.js'
import type { BasePoint } from './base-point.ts'
import { isZero, select } from './masks.ts'

export interface Bip340Key {
  /** `aux`: 32 random bytes. */
  sign(message: Uint8Array, aux: Uint8Array): Uint8Array
  wipe(): void
}

/** Of a scalar from 1 to n - 1, which stays the caller's. */
export function openBip340(base: BasePoint, secret: Uint8Array): Bip340Key {
  const { scalar: d, x: publicX } = base.use(() => withEvenPoint(base, secret))
  return {
    sign: (message, aux) => {
      const masked = taggedHash(AUX, aux)
      for (let i = 0; i < masked.length; i++) masked[i]! ^= d[i]!
      const hash = taggedHash(NONCE, masked, publicX, message)
      masked.fill(0)
      return base.use(() => {
        const drawn = base.reduce(hash)
        hash.fill(0)
        if (isZero(drawn)) throw new Error('a nonce of zero') // as improbable as to guess the key
        const { scalar: k, x } = withEvenPoint(base, drawn)
        const e = base.reduce(taggedHash(CHALLENGE, x, publicX, message))
        const s = base.multiplyAdd(e, d, k)
        for (const secret of [drawn, k]) secret.fill(0)
        return Uint8Array.from([...x, ...s])
      })
    },
    wipe: () => d.fill(0),
  }
}

/** The scalar or its opposite, whichever's point has an even y, and that point's x. */
function withEvenPoint(base: BasePoint, scalar: Uint8Array): { scalar: Uint8Array; x: Uint8Array } {
  const { x, y, inverse } = base.multiply(scalar)
  const opposite = base.negate(scalar)
  const chosen = select(y[y.length - 1]! & 1, opposite, scalar)
  for (const secret of [y, inverse, opposite]) secret.fill(0)
  return { scalar: chosen, x }
}

type Tag = ReturnType<typeof sha256.create>

/** The state after the hash of the tag, twice. */
function tag(name: string): Tag {
  const hash = sha256(new TextEncoder().encode(`BIP0340/${name}`))
  return sha256.create().update(hash).update(hash)
}

const [AUX, NONCE, CHALLENGE] = [tag('aux'), tag('nonce'), tag('challenge')]

function taggedHash(tag: Tag, ...parts: Uint8Array[]): Uint8Array {
  const hash = tag.clone()
  for (const part of parts) hash.update(part)
  const digest = hash.digest()
  hash.destroy()
  return digest
}
