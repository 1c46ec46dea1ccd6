/** Checks the mechanisms of a new key, and imports key material. Keys are generated in keys.ts. Contract sections 4.4 and 4.5. */

import { CofferError } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import {
  type KeyTypeName,
  type MechanismName,
  mechanismFits,
  mixesCiphers,
  requiredBytes,
  resolveImport,
} from '../../crypto/algorithms.ts'
import { type ClaimedPublic, checkClaimed } from '../../crypto/encoding/import-pem.ts'
import type { RsaClaims } from '../../crypto/rsa/generate.ts'
import type { CryptoPool, KeyPair, KeyType } from '../../crypto/types.ts'

/** Private part of a key to import. The import wipes it. */
export type KeyMaterial =
  | ({ primeP: Uint8Array; primeQ: Uint8Array; publicExponent: Uint8Array } & Partial<RsaClaims>)
  | { data: Uint8Array; expanded?: Uint8Array | undefined }

export interface KeySpec {
  type: KeyType
  typeName: KeyTypeName
  /** Length of a Generic key. */
  bytes?: number | undefined
}

/** Throws `invalid` if a mechanism does not fit the type, the length or another mechanism. */
export function assertFit(mechanisms: readonly MechanismName[], { type, bytes }: KeySpec): void {
  for (const mechanism of mechanisms) {
    if (!mechanismFits(mechanism, type)) throw new CofferError('invalid', `${mechanism} does not fit ${type} keys`)
    const required = requiredBytes(mechanism)
    if (required !== undefined && bytes !== required)
      throw new CofferError('invalid', `${mechanism} needs a key of ${required * 8} bits`)
  }
  if (mixesCiphers(mechanisms))
    throw new CofferError('invalid', 'mechanisms: one key does not serve both AES_CBC and XAES')
}

export function kindOf(typeName: KeyTypeName, material: KeyMaterial): KeySpec {
  const bytes = 'data' in material ? material.data.length : undefined
  return { type: resolveImport(typeName, bytes ?? 0), typeName, bytes }
}

/** Throws `invalid` for a malformed key, or if a claimed public part does not match. */
export async function importPair(
  pool: CryptoPool,
  type: KeyType,
  material: KeyMaterial,
  claimed: ClaimedPublic,
): Promise<KeyPair> {
  const pair = await importUnclaimed(pool, type, material)
  try {
    checkClaimed(claimed, pair.public)
    return pair
  } catch (error) {
    wipe(pair.private)
    throw error
  }
}

function importUnclaimed(pool: CryptoPool, type: KeyType, material: KeyMaterial): Promise<KeyPair> {
  if (type === 'RSA') {
    if ('data' in material) throw new CofferError('invalid', 'RSA keys have primeP, primeQ and publicExponent')
    const claims = material.privateExponent === undefined ? undefined : (material as RsaClaims)
    return pool.importRsa(material.primeP, material.primeQ, material.publicExponent, claims)
  }
  if (!('data' in material)) throw new CofferError('invalid', `${type} keys have data only`)
  return pool.importRaw(type, material.data, material.expanded)
}
