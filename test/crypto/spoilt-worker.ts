/** A worker of the pool that expects another known answer of ML_DSA_44 than the right one. */

import { KNOWN } from '../../firmware/crypto/engine/ml-dsa/sets.ts'
import '../../firmware/crypto/pool/worker.ts'

Object.assign(KNOWN.ML_DSA_44, { sha256: '00'.repeat(32) })
