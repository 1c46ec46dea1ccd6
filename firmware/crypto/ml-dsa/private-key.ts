/** Keys and signatures of ML-DSA as the rest of Coffer uses them: pure and with an external mu, always hedged. FIPS 204, section 5. */

import { timingSafeEqual } from 'node:crypto'
import { CofferError } from '../../base/error.ts'
import { copySecret, newSecret, wipe } from '../../base/secret.ts'
import { products as chosen } from '../engine/choice.ts'
import { Fault } from '../engine/fault.ts'
import type { Products } from '../engine/float/emitter.ts'
import { Kept } from '../engine/float/kept.ts'
import { expectKeccakConstants, keccak, SHAKE256 } from '../engine/keccak.ts'
import { expandPrivate, expandSeed, wipeExpandedKey } from '../engine/ml-dsa/key.ts'
import { DIGEST_BYTES, type MlDsaSet, PARAMETERS, SEED_BYTES } from '../engine/ml-dsa/parameters.ts'
import { latticeOf } from '../engine/ml-dsa/sets.ts'
import { sign, verify } from '../engine/ml-dsa/signature.ts'
import type { Random } from '../random.ts'
import type { KeyPair, SignMode } from '../types.ts'

/** What is signed is the message, or with an external mu what FIPS 204 calls mu. */
export type MlDsaMode = 'ML_DSA' | 'ML_DSA_EXTERNAL_MU'

export interface OpenedMlDsa {
  readonly publicKey: Uint8Array
  /** The caller owns the signature; throws CofferError `invalid` for a mode or a length that does not fit, or a context of an external mu. */
  sign(mode: SignMode, message: Uint8Array, context?: Uint8Array): Uint8Array
  wipe(): void
}

/** The private key as it is stored: 32 bytes of a seed, or the expanded form of an imported key without one. */
export interface MlDsaPair extends KeyPair {
  public: { data: Uint8Array }
}

export function generateMlDsa(set: MlDsaSet, random: Random, products: Products = chosen): MlDsaPair {
  return tried(set, random(SEED_BYTES), random, products)
}

/**
 * A seed or the expanded form, told apart by length; copies `data`. Of a seed, `claimed` is what a file says is its expanded form.
 * Throws CofferError `invalid` where the parts do not agree.
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
    const lengths = `seeds of ${SEED_BYTES} or expanded keys of ${expandedBytes} bytes`
    throw new CofferError('invalid', `data: ${set} keys are ${lengths}`)
  }
  if (claimed !== undefined) {
    const expanded = expandedMlDsa(set, data, products)
    const agrees = claimed.length === expandedBytes && timingSafeEqual(claimed, expanded)
    wipe(expanded)
    if (!agrees) throw disagreement(set)
  }
  return tried(set, copySecret(data), random, products)
}

/** The expanded private key of a seed; the caller wipes it. */
export function expandedMlDsa(set: MlDsaSet, seed: Uint8Array, products: Products = chosen): Uint8Array {
  const encoded = newSecret(PARAMETERS[set].expandedBytes)
  wipeExpandedKey(expandSeed(latticeOf(set, products), seed, encoded))
  return encoded
}

/** Keeps its own copy of what it needs of the private key until `wipe`. Throws `internal` when the stored key is damaged. */
export function openMlDsa(
  set: MlDsaSet,
  privateKey: Uint8Array,
  random: Random,
  products: Products = chosen,
): OpenedMlDsa {
  const key = open(set, privateKey, random, products)
  if (key === undefined) throw new CofferError('internal', `The stored ${set} key is damaged`)
  return key
}

const PURE = 0 // FIPS 204, algorithm 2: the domain of messages that are not hashed before
const NO_CONTEXT = new Uint8Array()
const CONTEXT_BYTES_MAX = 255

const disagreement = (set: MlDsaSet): CofferError =>
  new CofferError('invalid', `data: the parts of the ${set} key do not agree`)

function open(set: MlDsaSet, privateKey: Uint8Array, random: Random, products: Products): OpenedMlDsa | undefined {
  const lattice = latticeOf(set, products)
  const isSeed = privateKey.length === SEED_BYTES
  const expanded = isSeed ? expandSeed(lattice, privateKey) : expandPrivate(lattice, privateKey)
  if (expanded === undefined) return undefined
  const { publicKey, block } = expanded
  const kept = new Kept(expanded.k, expanded.tr)
  wipe(expanded.k)
  let isOpen = true
  return {
    publicKey,
    sign: (mode, message, context = NO_CONTEXT) => {
      if (!isOpen) throw new CofferError('internal', 'The key is no longer open')
      expectFit(set, mode, message, context)
      const hedge = random(SEED_BYTES)
      try {
        return kept.use((bytes) => {
          const [k, tr] = [bytes.subarray(0, SEED_BYTES), bytes.subarray(SEED_BYTES)]
          const domain = Uint8Array.of(PURE, context.length)
          const mu = mode === 'ML_DSA' ? keccak(SHAKE256, DIGEST_BYTES, tr, domain, context, message) : message
          expectKeccakConstants()
          return lattice.use(() => {
            const signature = sign(lattice, { k, block }, mu, hedge)
            // a wrong one can give the key away; t1, which this is against, is not what it was signed with
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
  if (mode !== 'ML_DSA' && mode !== 'ML_DSA_EXTERNAL_MU') {
    throw new CofferError('invalid', `mode: ${mode} does not fit ${set} keys`)
  }
  if (context.length > CONTEXT_BYTES_MAX) {
    throw new CofferError('invalid', `context: at most ${CONTEXT_BYTES_MAX} bytes`)
  }
  if (mode === 'ML_DSA') return
  if (context.length > 0) throw new CofferError('invalid', 'context: is part of an external mu')
  if (message.length !== DIGEST_BYTES) throw new CofferError('invalid', `message: mu has ${DIGEST_BYTES} bytes`)
}

/** A new key is computed twice, which must give the same public key, and signs once, which is verified. FIPS 140-3, IG 10.3.A. */
function tried(set: MlDsaSet, privateKey: Uint8Array, random: Random, products: Products): MlDsaPair {
  const [key, again] = [0, 1].map(() => open(set, privateKey, random, products))
  try {
    if (key === undefined || again === undefined) throw disagreement(set)
    const { publicKey } = key
    if (Buffer.compare(publicKey, again.publicKey) !== 0) throw new Fault('a new key that came out in two ways')
    key.sign('ML_DSA', publicKey)
    return { type: set, private: privateKey, public: { data: publicKey } }
  } catch (error) {
    wipe(privateKey)
    throw error
  } finally {
    key?.wipe()
    again?.wipe()
  }
}
