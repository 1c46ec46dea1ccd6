/** Where the entries of a NetHSM's store lie, and the keys that seal them. Contract section 8.2. */

import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { wipe } from '../../base/secret.ts'
import { ID_PATTERN, type Namespace, USER_ID_PATTERN } from '../../kms/domain/identifiers.ts'

/** The stores whose entries are sealed by the domain key. */
const STORES = ['authentication', 'key', 'namespace', 'config'] as const
type StoreName = (typeof STORES)[number]

const KEY_NAMES: Record<StoreName, string> = {
  authentication: 'auth_store',
  key: 'key_store',
  namespace: 'namespace_store',
  config: 'config_store',
}

function storeKeyOf(domainKey: Uint8Array, store: StoreName): Uint8Array {
  const secret = concatBytes(domainKey, utf8ToBytes(KEY_NAMES[store]))
  try {
    return sha256(secret)
  } finally {
    wipe(secret)
  }
}

export type StoreKeys = Record<StoreName, Uint8Array>

/** The caller wipes them. */
export const storeKeysOf = (domainKey: Uint8Array): StoreKeys =>
  Object.fromEntries(STORES.map((name) => [name, storeKeyOf(domainKey, name)])) as StoreKeys

type NethsmPath =
  | { store: 'authentication'; userId: string }
  | { store: 'key'; namespace: Namespace; id: string }
  | { store: 'namespace'; id: string }
  | { store: 'config'; name: string }
  /** A setting of the device the backup was made on, `config/<name>` or `domain-key/<slot>`. */
  | { store: 'local'; name: string }

/** Null for what says nothing here, undefined for what no NetHSM has. */
export function readPath(path: string, deviceId: string): NethsmPath | null | undefined {
  const [, store, first = '', second = '', third] = path.split('/')
  const depth = path.split('/').length - 1
  switch (store) {
    case 'authentication':
      if (first === '.version') return null
      return depth === 2 && USER_ID_PATTERN.test(first) ? { store, userId: first } : undefined
    case 'namespace':
      if (first === '.version') return null
      return depth === 2 && ID_PATTERN.test(first) ? { store, id: first } : undefined
    case 'key': {
      if (first === '.version') return null
      if (depth === 2) return ID_PATTERN.test(first) ? { store, namespace: '', id: first } : undefined
      const namespace = first.slice(1)
      const valid = depth === 3 && first[0] === '.' && ID_PATTERN.test(namespace) && ID_PATTERN.test(second)
      return valid ? { store, namespace, id: second } : undefined
    }
    case 'config':
      return depth === 2 ? { store, name: first } : null
    case 'domain-key': // version 0
      return null
    case 'local':
      return depth === 4 && first === deviceId ? { store, name: `${second}/${third}` } : null
    default:
      return null
  }
}

export const userPath = (userId: string): string => `/authentication/${userId}`
export const namespacePath = (id: string): string => `/namespace/${id}`
export const keyPath = (namespace: Namespace, id: string): string =>
  namespace === '' ? `/key/${id}` : `/key/.${namespace}/${id}`
