/** Modules of the parameter sets, compiled at first use. Each then computes a known answer; a set that fails is not used. */

import { hash } from 'node:crypto'
import { hexToBytes } from '@noble/hashes/utils.js'
import { CofferError } from '../../../base/error.ts'
import type { Products } from '../float/emitter.ts'
import { keccak, SHAKE256 } from '../keccak.ts'
import { expandSeed } from './key.ts'
import { Lattice } from './lattice.ts'
import { DIGEST_BYTES, type MlDsaSet, PARAMETERS, SEED_BYTES } from './parameters.ts'
import { type Rejection, sign, verify } from './signature.ts'

export function latticeOf(set: MlDsaSet, products: Products): Lattice {
  const name = `${set} ${products}`
  let lattice = lattices.get(name)
  if (lattice === undefined) {
    const made = new Lattice(PARAMETERS[set], products)
    lattice = comesOut(made, KNOWN[set]) ? made : null
    lattices.set(name, lattice)
  }
  if (lattice === null) {
    throw new CofferError('internal', `Signatures of ${set} come out wrong: this computer or this software is broken`)
  }
  return lattice
}

/** Null if the known answer was wrong. */
const lattices = new Map<string, Lattice | null>()

/** The message is hashed after tr, without domain or context. `sha256` is the hash of the signature without random bytes. */
type MlDsaKnownAnswer = Readonly<Record<'seed' | 'message' | 'sha256', string>>

/**
 * Rows of table 1 of draft-celi-acvp-ml-dsa (NIST). Each covers all reasons for rejecting a round. In the larger two sets c t0 is
 * never too large, since tau 2^12 is below gamma2.
 */
export const KNOWN: Readonly<Record<MlDsaSet, MlDsaKnownAnswer>> = {
  ML_DSA_44: {
    seed: '5c624fcc1862452452d0c665840d8237f43108e5499edcdc108fbc49d596e4b7',
    message: '951fdf5473a4cba6d9e5b5db7e79fb8173921ba5b13e9271401b8f907b8b7d5b',
    sha256: 'dcc71a421bc6ffafb7df0c7f6d018a19ada154d1e2ee360ed533cecd5dc980ad',
  },
  ML_DSA_65: {
    seed: 'f865b889e5022d54babc81ca67e7eb39f1ac42f92cf5295c3da5c9667db1b924',
    message: '047afaadbe020ed2d766da85317dede80be550545f0b21e3f555a990f8004258',
    sha256: '56308a3578360c41356ba9c97d3240e01767fa76bbba9fd0cc6cfa9add088db9',
  },
  ML_DSA_87: {
    seed: 'ae213fe8589b414f53780d8b9b6837179967e13cb474c5ad365c043778d2bc90',
    message: '19c1913ba76ff04596bb7cc80fd825a5aedef5d5ad61cedb5203e6d7edb18877',
    sha256: '23fe743edd101970d499e7eb57a7aa245baf417e851b260c55dd525a445f08da',
  },
}

export function comesOut(
  lattice: Lattice,
  known: MlDsaKnownAnswer,
  onRejection?: (rejection: Rejection) => void,
): boolean {
  const key = expandSeed(lattice, hexToBytes(known.seed))
  const mu = keccak(SHAKE256, DIGEST_BYTES, key.tr, hexToBytes(known.message))
  return lattice.use(() => {
    const signature = sign(lattice, key, mu, new Uint8Array(SEED_BYTES), onRejection)
    return hash('sha256', signature, 'hex') === known.sha256 && verify(lattice, mu, signature)
  })
}
