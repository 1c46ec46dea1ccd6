/** Verifies signatures of ML-DSA with a public key alone, by the code that checks signatures before they leave. FIPS 204, algorithms 3 and 8. */

import { products as chosen } from '../engine/choice.ts'
import type { Products } from '../engine/float/emitter.ts'
import { keccak, SHAKE256 } from '../engine/keccak.ts'
import { keepPublic } from '../engine/ml-dsa/key.ts'
import { DIGEST_BYTES, type MlDsaSet, PARAMETERS, SEED_BYTES } from '../engine/ml-dsa/parameters.ts'
import { expandMatrix } from '../engine/ml-dsa/sampling.ts'
import { latticeOf } from '../engine/ml-dsa/sets.ts'
import { verify } from '../engine/ml-dsa/signature.ts'
import type { MlDsaMode } from './private-key.ts'

export const shake256 = (...parts: Uint8Array[]): Uint8Array => keccak(SHAKE256, DIGEST_BYTES, ...parts)

export function verifyMlDsa(
  set: MlDsaSet,
  publicKey: Uint8Array,
  mode: MlDsaMode,
  message: Uint8Array,
  signature: Uint8Array,
  context: Uint8Array = new Uint8Array(),
  products: Products = chosen,
): boolean {
  if (publicKey.length !== PARAMETERS[set].publicBytes || context.length > 255) return false
  const hashed = () => shake256(shake256(publicKey), Uint8Array.of(0, context.length), context, message)
  return verifyMu(set, publicKey, mode === 'ML_DSA' ? hashed() : message, signature, products)
}

export function verifyMu(
  set: MlDsaSet,
  publicKey: Uint8Array,
  mu: Uint8Array,
  signature: Uint8Array,
  products: Products = chosen,
): boolean {
  const lattice = latticeOf(set, products)
  return lattice.use(() => {
    expandMatrix(lattice, publicKey.subarray(0, SEED_BYTES))
    keepPublic(lattice, publicKey)
    return verify(lattice, mu, signature)
  })
}
