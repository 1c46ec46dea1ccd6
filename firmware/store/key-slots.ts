/**
 * The domain key as it lies in the store: slot 0 for attended starts, slot 1 for unattended ones. Contract section 2.
 *
 * Backups in the form of a NetHSM have it sealed as a NetHSM does, by the key that the same passphrase and salt give. That
 * can only be made while the passphrase is at hand, and is kept beside slot 0. Slot 0 itself has that form after such a
 * backup was restored. Contract section 8.2.
 */

import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes } from '@noble/hashes/utils.js'
import { CofferError } from '../base/error.ts'
import { wipe } from '../base/secret.ts'
import { GCM_OVERHEAD_BYTES, openGcm, sealGcm } from '../crypto/gcm.ts'
import type { Random } from '../crypto/random.ts'
import { equalBytes, SEAL_KEY_BYTES, SEAL_OVERHEAD_BYTES, seal, unseal } from '../crypto/seal.ts'
import type { CryptoPool, ScryptCost } from '../crypto/types.ts'

/** Costs of deriving the unlock key; contract section 7.2. They are stored with the slot and can change later. */
export const UNLOCK_COST: ScryptCost = { N: 16384, r: 8, p: 16 }

const SALT_BYTES = 16
const COST_BYTES = 12 // N, r, p as big-endian 32-bit numbers
const BOX_OFFSET = COST_BYTES + SALT_BYTES
const SLOT_BYTES = BOX_OFFSET + SEAL_KEY_BYTES + SEAL_OVERHEAD_BYTES
const LOCKED_BYTES = SEAL_KEY_BYTES + GCM_OVERHEAD_BYTES
const LOCKED_SLOT_BYTES = BOX_OFFSET + LOCKED_BYTES
const LOCKED_CONTEXT = 'passphrase'
const DIGEST_BYTES = 32

export const newDomainKey = (random: Random): Uint8Array => random(SEAL_KEY_BYTES)

interface SlotServices {
  pool: Pick<CryptoPool, 'scrypt'>
  random: Random
}

/** The domain key sealed by the unlock key alone, as a NetHSM does it. */
export interface LockedDomainKey {
  salt: Uint8Array
  locked: Uint8Array
}

/** Slot 0's content: costs, salt, and the domain key sealed by the key derived from the passphrase; and what lies beside. */
export async function sealForPassphrase(
  domainKey: Uint8Array,
  passphrase: Uint8Array,
  { pool, random, cost }: SlotServices & { cost: ScryptCost },
): Promise<{ slot: Uint8Array; beside: Uint8Array }> {
  const salt = random(SALT_BYTES)
  const unlockKey = await pool.scrypt(passphrase, salt, cost)
  try {
    const slot = concatBytes(encodeCost(cost), salt, seal(unlockKey, domainKey, random))
    return { slot, beside: encodeBeside(slot, sealGcm(unlockKey, LOCKED_CONTEXT, domainKey, random)) }
  } finally {
    wipe(unlockKey)
  }
}

/** The domain key and what belongs beside the slot, or null when the passphrase is wrong. */
export async function openWithPassphrase(
  slot: Uint8Array,
  passphrase: Uint8Array,
  { pool, random }: SlotServices,
): Promise<{ domainKey: Uint8Array; beside: Uint8Array } | null> {
  if (slot.length !== SLOT_BYTES && slot.length !== LOCKED_SLOT_BYTES)
    throw new CofferError('storage', 'The sealed domain key is damaged')
  const unlockKey = await pool.scrypt(passphrase, slot.slice(COST_BYTES, BOX_OFFSET), decodeCost(slot))
  try {
    const box = slot.subarray(BOX_OFFSET)
    const domainKey = slot.length === SLOT_BYTES ? unseal(unlockKey, box) : openGcm(unlockKey, LOCKED_CONTEXT, box)
    if (domainKey === null) return null
    return { domainKey, beside: encodeBeside(slot, sealGcm(unlockKey, LOCKED_CONTEXT, domainKey, random)) }
  } finally {
    wipe(unlockKey)
  }
}

/** A slot 0 that the passphrase opens. */
export const lockedSlot = ({ salt, locked }: LockedDomainKey, cost: ScryptCost): Uint8Array =>
  concatBytes(encodeCost(cost), salt, locked)

/**
 * The domain key in the form that a NetHSM opens with the passphrase of `slot`. Null, until the next unlock with the passphrase,
 * when the slot's costs are not a NetHSM's, or the record beside it is missing or belongs to another slot.
 */
export function lockedDomainKeyOf(
  slot: Uint8Array,
  beside: Uint8Array | null,
  cost: ScryptCost,
): LockedDomainKey | null {
  if (!equalBytes(slot.subarray(0, COST_BYTES), encodeCost(cost))) return null
  const salt = slot.slice(COST_BYTES, BOX_OFFSET)
  if (slot.length === LOCKED_SLOT_BYTES) return { salt, locked: slot.slice(BOX_OFFSET) }
  if (beside === null || !belongsBeside(slot, beside)) return null
  return { salt, locked: beside.slice(DIGEST_BYTES) }
}

/** Only that of the same slot counts: older software changes the passphrase and leaves it as it was. */
const encodeBeside = (slot: Uint8Array, locked: Uint8Array): Uint8Array => concatBytes(sha256(slot), locked)

export const belongsBeside = (slot: Uint8Array, beside: Uint8Array): boolean =>
  beside.length === DIGEST_BYTES + LOCKED_BYTES && equalBytes(beside.subarray(0, DIGEST_BYTES), sha256(slot))

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
