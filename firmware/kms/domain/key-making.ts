/** New keys: generated, or made of what was sent. Contract sections 4.4 and 4.5. */

import { CofferError } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import { type KeyTypeName, type MechanismName, mechanismFits, resolveImport } from '../../crypto/algorithms.ts'
import { type ClaimedPublic, checkClaimed } from '../../crypto/encoding/import-pem.ts'
import type { RsaClaims } from '../../crypto/rsa/generate.ts'
import type { CryptoPool, KeyPair, KeyType } from '../../crypto/types.ts'

/** The private part of an imported key; wiped by the import. */
export type KeyMaterial =
  | ({ primeP: Uint8Array; primeQ: Uint8Array; publicExponent: Uint8Array } & Partial<RsaClaims>)
  | { data: Uint8Array; expanded?: Uint8Array | undefined }

/** What a key is: its type, and how that was spelled. */
export interface KeySpec {
  type: KeyType
  typeName: KeyTypeName
}

/** Throws `invalid`. */
export function assertFit(mechanisms: readonly MechanismName[], type: KeyType): void {
  for (const mechanism of mechanisms)
    if (!mechanismFits(mechanism, type)) throw new CofferError('invalid', `${mechanism} does not fit ${type} keys`)
}

export const kindOf = (typeName: KeyTypeName, material: KeyMaterial): KeySpec => ({
  type: resolveImport(typeName, 'data' in material ? material.data.length : 0),
  typeName,
})

/** Throws `invalid` for what is no key, or not that of the claimed public part. */
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
