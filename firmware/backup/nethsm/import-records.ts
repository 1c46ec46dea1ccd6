/**
 * Makes records of ours of what a restored backup in the form of a NetHSM brought, once the domain key is there: some at a
 * time, each batch in one transaction with the removal of what it was made of, so that it goes on where it was cut short.
 */

import { defined } from '../../base/defined.ts'
import { CofferError } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import { openGcm } from '../../crypto/gcm.ts'
import { SEAL_KEY_BYTES } from '../../crypto/seal.ts'
import type { CryptoPool } from '../../crypto/types.ts'
import type { RecordChange, Records } from '../../kms/domain/collections.ts'
import { encodeUser } from '../../kms/domain/user-record.ts'
import { CLUSTER_CA, type DeviceArea } from '../../store/device-area.ts'
import type { StoreFile } from '../../store/store.ts'
import { backupKeyChange } from '../backup-key.ts'
import { SALT_BYTES } from '../container.ts'
import { addToReport, type Omission, omissionText } from '../restore-report.ts'
import type { BackupEntry } from './container.ts'
import { readPath, type StoreKeys, storeKeysOf } from './paths.ts'
import { putCounts, readWaiting, removeEntry, removeWaiting, waiting } from './pending-import.ts'
import { decodeKeyEntry, decodeUser, type Imports, type Omit, unreadable } from './records.ts'
import { BACKUP_PLACES, backupEntryPaths } from './restore.ts'
import { decodeCertificates } from './settings.ts'

const BATCH = 64 // entries; keys among them are checked side by side

interface ImportServices {
  store: StoreFile
  device: DeviceArea
  records: Records & { readonly domainKey: Uint8Array }
  pool: CryptoPool
  /** Called for all that is left out. */
  onDamage: (message: string) => void
}

/** Throws `storage`, and `unavailable` when the store was closed meanwhile. */
export async function importRecords({ store, device, records, pool, onDamage }: ImportServices): Promise<void> {
  const counts = waiting(device)
  if (counts === null) return
  const keys = storeKeysOf(records.domainKey)
  try {
    for (let done = counts.done; done < counts.all; ) {
      const end = Math.min(done + BATCH, counts.all)
      const entries = Array.from({ length: end - done }, (_, n) => readWaiting(device, done + n))
      const outcomes = await Promise.allSettled(entries.map((entry) => recordsOf(entry, keys, pool)))
      const imported = outcomes.map((outcome, n) => accepted(outcome, defined(entries[n])))
      const omissions = imported.flatMap(({ omissions }) => omissions)
      const changes = imported.flatMap(({ changes }) => changes)
      try {
        await records.change(() => ({
          changes,
          result: undefined,
          withinTransaction: () => {
            for (const { clusterCa } of imported) if (clusterCa !== null) device.put(CLUSTER_CA, clusterCa)
            for (let index = done; index < end; index++) removeEntry(device, index)
            addToReport(device, omissions)
            putCounts(device, { all: counts.all, done: end })
          },
        }))
      } finally {
        for (const { value } of changes) if (value !== null) wipe(value)
      }
      for (const omission of omissions) onDamage(omissionText(omission))
      done = end
    }
    store.transaction(() => removeWaiting(device))
    store.checkpoint() // nothing sealed by the former keys stays behind
  } finally {
    wipe(...Object.values(keys))
  }
}

interface Imported {
  changes: RecordChange[]
  clusterCa: Uint8Array | null
  omissions: Omission[]
}

/** One entry that cannot be read must not keep all others away. */
function accepted(outcome: PromiseSettledResult<Imported>, { path }: BackupEntry): Imported {
  if (outcome.status === 'fulfilled') return outcome.value
  const { reason } = outcome
  if (!(reason instanceof CofferError && reason.code === 'invalid')) throw reason
  return { changes: [], clusterCa: null, omissions: [{ entry: nameOf(path), part: 'all', reason: reason.message }] }
}

/** The records that an entry becomes; the caller wipes them. Throws `invalid`. */
export async function recordsOf({ path, value }: BackupEntry, keys: StoreKeys, pool: Imports): Promise<Imported> {
  const omissions: Omission[] = []
  const omit: Omit = (part, reason) => void omissions.push({ entry: nameOf(path), part, reason })
  const only = (...changes: RecordChange[]): Imported => ({ changes, clusterCa: null, omissions })
  const version = BACKUP_PLACES.indexOf(path as (typeof BACKUP_PLACES)[number])
  if (version >= 0) return only(backupKeyOf(value, version === 0 ? null : keys.config))
  const place = readPath(path, '')
  if (!place || place.store === 'local') return only()
  const plain = opened(keys[place.store], path, value)
  try {
    switch (place.store) {
      case 'authentication': {
        const user = decodeUser(place.userId, plain, omit)
        return only({ collection: 'users', name: user.id, value: encodeUser(user) })
      }
      case 'namespace':
        return only({ collection: 'namespaces', name: place.id, value: new TextEncoder().encode(place.id) })
      case 'key':
        return only(...(await decodeKeyEntry(place.namespace, place.id, plain, pool, omit)))
      case 'config':
        return { changes: [], clusterCa: new TextEncoder().encode(decodeCertificates(plain)[0]), omissions }
    }
  } finally {
    wipe(plain)
  }
}

/** As the report has it: of keys and users the names that the API has for them. */
function nameOf(path: string): string {
  const place = readPath(path, '')
  switch (place?.store) {
    case 'authentication':
      return `user ${place.userId}`
    case 'namespace':
      return `namespace ${place.id}`
    case 'key':
      return `key ${place.namespace === '' ? '' : `${place.namespace}/`}${place.id}`
    case 'config':
      return `setting ${place.name}`
    default:
      return 'setting backup-passphrase'
  }
}

/** `key` opens both parts; null where they are not sealed. */
function backupKeyOf(value: Uint8Array, key: Uint8Array | null): RecordChange {
  const keyAt = 1 + (value[0] ?? 0)
  const part = (path: string, sealed: Uint8Array) => (key === null ? sealed : opened(key, path, sealed))
  const salt = part(backupEntryPaths.salt, value.subarray(1, keyAt))
  const secret = part(backupEntryPaths.key, value.subarray(keyAt))
  if (salt.length !== SALT_BYTES || secret.length !== SEAL_KEY_BYTES) throw unreadable()
  try {
    return backupKeyChange(salt, secret)
  } finally {
    wipe(secret)
  }
}

function opened(key: Uint8Array, path: string, sealed: Uint8Array): Uint8Array {
  const plain = openGcm(key, path, sealed)
  if (plain === null) throw new CofferError('invalid', 'it is damaged')
  return plain
}
