/** ML-DSA keys and signatures as the other modules use them: pure or with an external mu, always hedged. FIPS 204, section 5. */

import { timingSafeEqual } from 'node:crypto'
import { defined } from '../../base/defined.ts'
import { CofferError } from '../../base/error.ts'
import { copySecret, wipe } from '../../base/secret.ts'
import { products as chosen } from '../engine/choice.ts'
import { Fault } from '../engine/fault.ts'
import type { Products } from '../engine/float/emitter.ts'
import { Kept } from '../engine/float/kept.ts'
import { keccak, SHAKE256 } from '../engine/keccak.ts'
import { expandPrivate, expandSeed } from '../engine/ml-dsa/key.ts'
import { DIGEST_BYTES, type MlDsaSet, PARAMETERS, SEED_BYTES } from '../engine/ml-dsa/parameters.ts'
import { latticeOf } from '../engine/ml-dsa/sets.ts'
import { sign, verify } from '../engine/ml-dsa/signature.ts'
import type { Random } from '../random.ts'
import type { KeyPair, SignMode } from '../types.ts'

export type MlDsaMode = 'ML_DSA' | 'ML_DSA_EXTERNAL_MU'

export interface OpenedMlDsa {
  readonly publicKey: Uint8Array
  /**
   * The caller owns the signature. Throws CofferError `invalid` if the mode or the length does not fit, or if an external mu has
   * a context.
   */
  sign(mode: SignMode, message: Uint8Array, context?: Uint8Array): Uint8Array
  wipe(): void
}

/** The stored private key: a 32-byte seed, or the expanded form of a key that was imported without a seed. */
type MlDsaPair = KeyPair & { public: { data: Uint8Array } }

const PURE = 0 // FIPS 204, algorithm 2: domain of messages that are not prehashed
const CONTEXT_BYTES_MAX = 255

export function generateMlDsa(set: MlDsaSet, random: Random, products: Products = chosen): MlDsaPair {
  return tried(set, random(SEED_BYTES), random, products)
}

/**
 * Imports a seed or an expanded key; the length distinguishes them. Copies `data`. With a seed, `claimed` is the expanded key of
 * the same file. Throws CofferError `invalid` if the parts do not match.
 */
export function importMlDsa(
  set: MlDsaSet,
  data: Uint8Array,
  random: Random,
  claimed?: Uint8Array,
  products: Products = chosen,
): MlDsaPair {
  const { expandedBytes } = PARAMETERS[set]
  if (data.length !== SEED_BYTES && data.length !== expandedBytes) {
    throw invalid(`data: ${set} keys are seeds of ${SEED_BYTES} or expanded keys of ${expandedBytes} bytes`)
  }
  if (claimed !== undefined) {
    const expanded = expandedMlDsa(set, data, products)
    const agrees = claimed.length === expandedBytes && timingSafeEqual(claimed, expanded)
    wipe(expanded)
    if (!agrees) throw disagreement(set)
  }
  return tried(set, copySecret(data), random, products)
}

/** Expands a seed to the private key, which the caller wipes. */
export function expandedMlDsa(set: MlDsaSet, seed: Uint8Array, products: Products = chosen): Uint8Array {
  const { encoded, block } = expandSeed(latticeOf(set, products), seed)
  wipe(block)
  return encoded
}

/**
 * Copies the necessary parts of the private key, until `wipe`. Throws `damage` if the parts of the expanded form do not match, by
 * default CofferError `internal`.
 */
export function openMlDsa(
  set: MlDsaSet,
  privateKey: Uint8Array,
  random: Random,
  products: Products = chosen,
  damage = () => new CofferError('internal', `The stored ${set} key is damaged`),
): OpenedMlDsa {
  const lattice = latticeOf(set, products)
  const isSeed = privateKey.length === SEED_BYTES
  const expanded = isSeed ? expandSeed(lattice, privateKey) : expandPrivate(lattice, privateKey)
  if (expanded === undefined) throw damage()
  const { publicKey, encoded, block } = expanded
  const kept = new Kept(expanded.k, expanded.tr)
  wipe(encoded)
  let isOpen = true
  return {
    publicKey,
    sign: (mode, message, context = new Uint8Array()) => {
      if (!isOpen) throw new CofferError('internal', 'The key is no longer open')
      expectFit(set, mode, message, context)
      const hedge = random(SEED_BYTES)
      try {
        return kept.use((bytes) => {
          const [k, tr] = [bytes.subarray(0, SEED_BYTES), bytes.subarray(SEED_BYTES)]
          const domain = Uint8Array.of(PURE, context.length)
          const mu = mode === 'ML_DSA' ? keccak(SHAKE256, DIGEST_BYTES, tr, domain, context, message) : message
          return lattice.use(() => {
            const signature = sign(lattice, { k, block }, mu, hedge)
            // A wrong signature can reveal the key. Verification uses t1, which signing does not.
            if (!verify(lattice, mu, signature)) throw new Fault('a signature that is wrong')
            return signature
          })
        })
      } finally {
        wipe(hedge)
      }
    },
    wipe: () => {
      isOpen = false
      kept.wipe()
      wipe(block)
    },
  }
}

function expectFit(set: MlDsaSet, mode: SignMode, message: Uint8Array, context: Uint8Array): void {
  if (mode !== 'ML_DSA' && mode !== 'ML_DSA_EXTERNAL_MU') throw invalid(`mode: ${mode} does not fit ${set} keys`)
  if (context.length > CONTEXT_BYTES_MAX) throw invalid(`context: at most ${CONTEXT_BYTES_MAX} bytes`)
  if (mode === 'ML_DSA') return
  if (context.length > 0) throw invalid('context: is part of an external mu')
  if (message.length !== DIGEST_BYTES) throw invalid(`message: mu has ${DIGEST_BYTES} bytes`)
}

/** Tests a new key: computes it twice, which must give the same public key, and verifies one signature. FIPS 140-3, IG 10.3.A. */
function tried(set: MlDsaSet, privateKey: Uint8Array, random: Random, products: Products): MlDsaPair {
  const keys: OpenedMlDsa[] = []
  try {
    for (let time = 0; time < 2; time++)
      keys.push(openMlDsa(set, privateKey, random, products, () => disagreement(set)))
    const [{ publicKey, sign }, again] = [defined(keys[0]), defined(keys[1])]
    if (Buffer.compare(publicKey, again.publicKey) !== 0) throw new Fault('a new key that came out in two ways')
    sign('ML_DSA', publicKey)
    return { type: set, private: privateKey, public: { data: publicKey } }
  } catch (error) {
    wipe(privateKey)
    throw error
  } finally {
    for (const key of keys) key.wipe()
  }
}

const invalid = (text: string): CofferError => new CofferError('invalid', text)
const disagreement = (set: MlDsaSet): CofferError => invalid(`data: the parts of the ${set} key do not agree`)
