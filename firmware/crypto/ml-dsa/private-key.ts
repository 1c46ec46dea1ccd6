/** Keys and signatures of ML-DSA as the rest of Coffer uses them: pure and with an external mu, always hedged. FIPS 204, section 5. */

import { CofferError } from '../../base/error.ts'
import { copySecret, wipe } from '../../base/secret.ts'
import { products as chosen } from '../engine/choice.ts'
import { Fault } from '../engine/fault.ts'
import type { Products } from '../engine/float/emitter.ts'
import { Kept } from '../engine/float/kept.ts'
import { expectKeccakConstants, keccak, SHAKE256 } from '../engine/keccak.ts'
import { type ExpandedKey, encodeSeed, expandPrivate, expandPublic, expandSeed } from '../engine/ml-dsa/key.ts'
import type { Lattice } from '../engine/ml-dsa/lattice.ts'
import { DIGEST_BYTES, type MlDsaSet, PARAMETERS, SEED_BYTES } from '../engine/ml-dsa/parameters.ts'
import { latticeOf } from '../engine/ml-dsa/sets.ts'
import { sign, verify } from '../engine/ml-dsa/signature.ts'
import type { Random } from '../random.ts'

/** `message` is the message, or with an external mu what FIPS 204 calls mu. */
export type MlDsaMode = 'ML_DSA' | 'ML_DSA_EXTERNAL_MU'

export const isMlDsaMode = (mode: string): mode is MlDsaMode => mode === 'ML_DSA' || mode === 'ML_DSA_EXTERNAL_MU'

export const CONTEXT_BYTES_MAX = 255
export const MU_BYTES = DIGEST_BYTES

export interface OpenedMlDsa {
  readonly publicKey: Uint8Array
  /** The caller owns the signature; throws CofferError `invalid` for a length that does not fit, or a context of an external mu. */
  sign(mode: MlDsaMode, message: Uint8Array, context?: Uint8Array): Uint8Array
  wipe(): void
}

/** As it is stored: 32 bytes of a seed, or the expanded form of an imported key without one. */
export interface MlDsaPair {
  private: Uint8Array
  public: Uint8Array
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
  if (claimed !== undefined) expectExpanded(set, data, claimed, products)
  return tried(set, copySecret(data), random, products)
}

/** The expanded private key of a seed; the caller wipes it. */
export const expandedMlDsa = (set: MlDsaSet, seed: Uint8Array, products: Products = chosen): Uint8Array =>
  encodeSeed(latticeOf(set, products), seed)

function expectExpanded(set: MlDsaSet, seed: Uint8Array, claimed: Uint8Array, products: Products): void {
  const expanded = expandedMlDsa(set, seed, products)
  let difference = claimed.length ^ expanded.length
  for (let i = 0; i < expanded.length; i++) difference |= claimed[i]! ^ expanded[i]!
  wipe(expanded)
  if (difference !== 0) throw disagreement(set)
}

const disagreement = (set: MlDsaSet): CofferError =>
  new CofferError('invalid', `data: the parts of the ${set} key do not agree`)

/** Keeps its own copy of what it needs of the private key until `wipe`. Throws `internal` when the stored key is damaged. */
export function openMlDsa(
  set: MlDsaSet,
  privateKey: Uint8Array,
  random: Random,
  products: Products = chosen,
): OpenedMlDsa {
  const lattice = latticeOf(set, products)
  const key = expand(lattice, privateKey)
  if (key === undefined) throw new CofferError('internal', `The stored ${set} key is damaged`)
  return opened(lattice, key, random)
}

/** Whether the signature is one of that public key. */
export function verifyMlDsa(
  set: MlDsaSet,
  publicKey: Uint8Array,
  mode: MlDsaMode,
  message: Uint8Array,
  signature: Uint8Array,
  context: Uint8Array = NO_CONTEXT,
  products: Products = chosen,
): boolean {
  expectFit(mode, message, context)
  if (publicKey.length !== PARAMETERS[set].publicBytes) return false
  const lattice = latticeOf(set, products)
  const { tr, block } = expandPublic(lattice, publicKey)
  return lattice.use(() => {
    lattice.bytes.set(block, lattice.at.t1)
    return verify(lattice, mode === 'ML_DSA' ? hashMessage(tr, message, context) : message, signature)
  })
}

/** Takes the key over. */
function opened(lattice: Lattice, { publicKey, tr, k, block }: ExpandedKey, random: Random): OpenedMlDsa {
  const kept = new Kept(k, tr)
  wipe(k)
  let isOpen = true
  return {
    publicKey,
    sign: (mode, message, context = NO_CONTEXT) => {
      if (!isOpen) throw new CofferError('internal', 'The key is no longer open')
      expectFit(mode, message, context)
      return kept.use((bytes) => {
        const [k, tr] = [bytes.subarray(0, SEED_BYTES), bytes.subarray(SEED_BYTES)]
        const mu = () => (mode === 'ML_DSA' ? hashMessage(tr, message, context) : message)
        return signChecked(lattice, { k, block }, mu, random)
      })
    },
    wipe: () => {
      isOpen = false
      kept.wipe()
      wipe(block)
    },
  }
}

const NO_CONTEXT = new Uint8Array()
const PURE = 0 // FIPS 204, algorithm 2: the domain of messages that are not hashed before

function hashMessage(tr: Uint8Array, message: Uint8Array, context: Uint8Array): Uint8Array {
  return keccak(SHAKE256, DIGEST_BYTES, tr, Uint8Array.of(PURE, context.length), context, message)
}

function expectFit(mode: MlDsaMode, message: Uint8Array, context: Uint8Array): void {
  if (context.length > CONTEXT_BYTES_MAX) {
    throw new CofferError('invalid', `context: at most ${CONTEXT_BYTES_MAX} bytes`)
  }
  if (mode === 'ML_DSA') return
  if (context.length > 0) throw new CofferError('invalid', 'context: is part of an external mu')
  if (message.length !== MU_BYTES) throw new CofferError('invalid', `message: mu has ${MU_BYTES} bytes`)
}

/**
 * A signature that is verified before it leaves, because a wrong one can give the key away: against t1, of which signing makes no
 * use, and a message that is hashed anew.
 */
function signChecked(
  lattice: Lattice,
  key: Pick<ExpandedKey, 'k' | 'block'>,
  mu: () => Uint8Array,
  random: Random,
): Uint8Array {
  const hedge = random(SEED_BYTES)
  try {
    return lattice.use(() => {
      const signature = sign(lattice, key, mu(), hedge)
      if (!verify(lattice, mu(), signature)) throw new Fault('a signature that is wrong')
      expectKeccakConstants()
      return signature
    })
  } finally {
    wipe(hedge)
  }
}

const expand = (lattice: Lattice, privateKey: Uint8Array): ExpandedKey | undefined =>
  privateKey.length === SEED_BYTES ? expandSeed(lattice, privateKey) : expandPrivate(lattice, privateKey)

/** A new key signs once, and its signature is verified with its public key, as if by somebody else. FIPS 140-3, IG 10.3.A. */
function tried(set: MlDsaSet, privateKey: Uint8Array, random: Random, products: Products): MlDsaPair {
  const lattice = latticeOf(set, products)
  const expanded = expand(lattice, privateKey)
  if (expanded === undefined) throw disagreement(set)
  const key = opened(lattice, expanded, random)
  const { publicKey } = key
  const message = publicKey.subarray(0, SEED_BYTES)
  try {
    const signature = key.sign('ML_DSA', message)
    if (!verifyMlDsa(set, publicKey, 'ML_DSA', message, signature, NO_CONTEXT, products)) {
      throw new Fault('a new key whose signature is wrong')
    }
    return { private: privateKey, public: publicKey }
  } catch (error) {
    wipe(privateKey)
    throw error
  } finally {
    key.wipe()
  }
}
