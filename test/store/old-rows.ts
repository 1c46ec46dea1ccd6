/** Records as software before changes had numbers has written them: format 1, with nothing that says which there must be. */

import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes } from '@noble/hashes/utils.js'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { deriveSealKey, seal } from '../../firmware/crypto/seal.ts'
import { databaseOf } from '../../firmware/store/sqlite/file.ts'
import type { Change, StoreFile } from '../../firmware/store/store.ts'
import { utf8 } from './rig.ts'

/** The domain key of `StoreRig.vault`. */
const DOMAIN_KEY = new Uint8Array(32).fill(3)

export function putOldRows(store: StoreFile, changes: readonly Change[], domainKey = DOMAIN_KEY): void {
  for (const { collection, name, value } of changes) {
    const mark = hmac(sha256, deriveSealKey(domainKey, `coffer ${collection} names`), utf8(name)).subarray(0, 16)
    const slot = new DataView(mark.buffer, mark.byteOffset).getBigUint64(0) >> 1n
    const recordKey = deriveSealKey(domainKey, `coffer ${collection} records`)
    const sealed = seal(recordKey, concatBytes(Uint8Array.of(1), mark, value!), systemRandom)
    databaseOf(store).prepare(`INSERT INTO "${collection}" (slot, sealed) VALUES (?, ?)`).run(slot, sealed)
  }
}
