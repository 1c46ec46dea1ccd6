/** Restoring: the whole backup is verified first, then replaces what there is in one transaction. Contract section 8.3. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Database } from 'better-sqlite3'
import { equalBytes, wipe } from '../crypto/seal.ts'
import { ATTENDED, CLUSTER_CA, DEVICE_RECORDS, type DeviceArea, TLS_IDENTITY, UNATTENDED } from '../device-area.ts'
import { CofferError } from '../error.ts'
import type { BackupKey, Derivation } from './backup-key.ts'
import { BACKUP_COLLECTIONS, type BackupCollection, type Header, type StoredRow } from './container.ts'
import { openBackup, readSalt, type Source } from './reader.ts'

const SLICE_MS = 10 // of verification, between which requests are served

/** A backup that is whole and of which every bit is the one that was written. */
export interface VerifiedBackup {
  readonly header: Header
  /**
   * Call within a transaction: users, namespaces, keys, the configuration of the domain and the slot of the domain key
   * become those of the backup, and what it has not is gone. `full` adds all that belongs to the device.
   */
  replace(database: Database, device: DeviceArea, extent: 'full' | 'partial'): void
  /** Wipes the keys. */
  close(): void
}

export interface Access extends Derivation {
  /** Null where the current backup key shall do. */
  passphrase: Uint8Array | null
  current: BackupKey | null
}

/** `open` gives the same bytes each time. Throws `invalid`. */
export async function verifyBackup(open: () => Source, access: Access): Promise<VerifiedBackup> {
  const backupKey = await keyFor(readSalt(open()), access)
  const reopen = () => {
    const source = open()
    readSalt(source)
    return openBackup(source, backupKey)
  }
  try {
    const backup = reopen()
    try {
      let until = performance.now() + SLICE_MS
      for (const record of backup.records()) {
        if ('name' in record && !isDeviceRecord(record.name))
          throw new CofferError('invalid', 'The backup is of newer software')
        if (performance.now() < until) continue
        await nextTurn()
        until = performance.now() + SLICE_MS
      }
    } finally {
      backup.close()
    }
    return {
      header: backup.header,
      replace: (database, device, extent) => {
        const backup = reopen()
        try {
          replaceRecords(database, device, extent, backup.records())
          replaceSlots(device, extent, backup.header)
        } finally {
          backup.close()
        }
      },
      close: () => wipe(backupKey),
    }
  } catch (error) {
    wipe(backupKey)
    throw error
  }
}

async function keyFor(salt: Uint8Array, { passphrase, current, pool, cost }: Access): Promise<Uint8Array> {
  if (passphrase !== null) return pool.scrypt(passphrase, salt, cost)
  if (current !== null && equalBytes(current.salt, salt)) return current.key.slice()
  throw new CofferError('invalid', 'backupPassphrase is needed: it is not the one that is set now')
}

const isDeviceRecord = (name: string): boolean => DEVICE_RECORDS.some((known) => known === name)

function replaceRecords(
  database: Database,
  device: DeviceArea,
  extent: 'full' | 'partial',
  records: Iterable<StoredRow | { name: string; value: Uint8Array }>,
): void {
  const replaced: readonly string[] = extent === 'full' ? DEVICE_RECORDS : [CLUSTER_CA]
  const missing = new Set(replaced)
  missing.delete(TLS_IDENTITY) // without one of its own the device keeps what it has
  for (const collection of BACKUP_COLLECTIONS) database.exec(`DELETE FROM "${collection}"`)
  const insertInto = insertions(database)
  for (const record of records) {
    if ('slot' in record) insertInto[record.collection].run(record.slot, record.sealed)
    else if (replaced.includes(record.name)) {
      device.put(record.name, record.value)
      missing.delete(record.name)
    }
  }
  for (const name of missing) device.remove(name)
}

function insertions(database: Database) {
  const prepare = (collection: BackupCollection) =>
    database.prepare(`INSERT INTO "${collection}" (slot, sealed) VALUES (?, ?)`)
  return Object.fromEntries(BACKUP_COLLECTIONS.map((collection) => [collection, prepare(collection)])) as Record<
    BackupCollection,
    ReturnType<typeof prepare>
  >
}

function replaceSlots(device: DeviceArea, extent: 'full' | 'partial', { attendedSlot, unattendedSlot }: Header): void {
  const former = device.get(ATTENDED)
  if (former !== null && equalBytes(former, attendedSlot)) return // the same domain key: unattended starts stay as set
  device.put(ATTENDED, attendedSlot)
  const domainKey = extent === 'full' ? device.openOwn(unattendedSlot) : null
  if (domainKey === null) device.remove(UNATTENDED)
  else device.put(UNATTENDED, domainKey)
  if (domainKey !== null) wipe(domainKey)
}
