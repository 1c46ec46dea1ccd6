/** The domain key as it lies in the store: slot 0 for attended starts, slot 1 for unattended ones. Contract section 2. */

import { concatBytes } from '@noble/hashes/utils.js'
import type { Random } from './crypto/random.ts'
import { SEAL_KEY_BYTES, SEAL_OVERHEAD_BYTES, seal, unseal, wipe } from './crypto/seal.ts'
import type { CryptoPool, ScryptCost } from './crypto/types.ts'
import { CofferError } from './error.ts'

/** Costs of deriving the unlock key; contract section 7.2. They are stored with the slot and can change later. */
export const UNLOCK_COST: ScryptCost = { N: 16384, r: 8, p: 16 }

const SALT_BYTES = 16
const COST_BYTES = 12 // N, r, p as big-endian 32-bit numbers
const BOX_OFFSET = COST_BYTES + SALT_BYTES
const SLOT_BYTES = BOX_OFFSET + SEAL_KEY_BYTES + SEAL_OVERHEAD_BYTES

export const newDomainKey = (random: Random): Uint8Array => random(SEAL_KEY_BYTES)

/** Slot 0's content: costs, salt, and the domain key sealed by the key derived from the passphrase. */
export async function sealForPassphrase(
  domainKey: Uint8Array,
  passphrase: Uint8Array,
  { pool, random, cost }: { pool: CryptoPool; random: Random; cost: ScryptCost },
): Promise<Uint8Array> {
  const salt = random(SALT_BYTES)
  const unlockKey = await pool.scrypt(passphrase, salt, cost)
  try {
    return concatBytes(encodeCost(cost), salt, seal(unlockKey, domainKey, random))
  } finally {
    wipe(unlockKey)
  }
}

/** The domain key, or null when the passphrase is wrong. */
export async function openWithPassphrase(
  slot: Uint8Array,
  passphrase: Uint8Array,
  pool: Pick<CryptoPool, 'scrypt'>,
): Promise<Uint8Array | null> {
  if (slot.length !== SLOT_BYTES) throw new CofferError('storage', 'The sealed domain key is damaged')
  const unlockKey = await pool.scrypt(passphrase, slot.slice(COST_BYTES, BOX_OFFSET), decodeCost(slot))
  try {
    return unseal(unlockKey, slot.subarray(BOX_OFFSET))
  } finally {
    wipe(unlockKey)
  }
}

function encodeCost({ N, r, p }: ScryptCost): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(COST_BYTES))
  bytes.setUint32(0, N)
  bytes.setUint32(4, r)
  bytes.setUint32(8, p)
  return new Uint8Array(bytes.buffer)
}

function decodeCost(slot: Uint8Array): ScryptCost {
  const bytes = new DataView(slot.buffer, slot.byteOffset, COST_BYTES)
  return { N: bytes.getUint32(0), r: bytes.getUint32(4), p: bytes.getUint32(8) }
}
