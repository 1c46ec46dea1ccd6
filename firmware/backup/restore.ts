/** Restoring: the whole backup is verified first, then replaces what there is in one transaction. Contract section 8.3. */

import { CofferError } from '../base/error.ts'
import { wipe } from '../base/secret.ts'
import { forEachInSlices } from '../base/slices.ts'
import { equalBytes } from '../crypto/seal.ts'
import {
  ATTENDED,
  BESIDE_ATTENDED,
  CHAT_TLS_IDENTITY,
  CLUSTER_CA,
  DEVICE_RECORDS,
  type DeviceArea,
  TLS_IDENTITY,
  UNATTENDED,
} from '../store/device-area.ts'
import { HEADS, type Row, type Rows } from '../store/store.ts'
import type { ChatPiece } from './chat.ts'
import { BACKUP_COLLECTIONS, type BackupRecord, type Header } from './container.ts'
import { removeWaiting } from './nethsm/pending-import.ts'
import { verifyBackup as verifyForeign } from './nethsm/restore.ts'
import { type OpenBackup, openBackup, readSalt, recognise, type Source } from './reader.ts'
import { putReport } from './restore-report.ts'
import { type BackupCredentials, keyFor, type VerifiedBackup } from './verification.ts'

/** `open` gives the same bytes each time. Throws `invalid`. */
export async function verifyBackup(open: () => Source, access: BackupCredentials): Promise<VerifiedBackup> {
  if (recognise(open()) === 'nethsm') return verifyForeign(open, access)
  const backupKey = await keyFor(readSalt(open()), access)
  const reopen = () => {
    const source = open()
    readSalt(source)
    return openBackup(source, backupKey)
  }
  try {
    const backup = reopen()
    const { header } = backup
    let hasChat = false
    try {
      await forEachInSlices(backup.records(), (record) => {
        if ('name' in record && !isDeviceRecord(record.name))
          throw new CofferError(
            'invalid',
            'The backup is of a newer version of Coffer: restore it with that version or a newer one',
          )
        hasChat ||= 'file' in record
      })
    } finally {
      backup.close()
    }
    return {
      fits: (device) => equalBytes(header.attendedSlot, device.get(ATTENDED) ?? new Uint8Array()),
      replace: (rows, device, extent) => {
        const backup = reopen()
        try {
          replaceRecords(rows, device, extent, backup.records())
          replaceSlots(device, extent, backup.header)
          putReport(device, [])
        } finally {
          backup.close()
        }
      },
      rows: () => rowsOf(reopen()),
      chatPieces: hasChat ? () => chatPiecesOf(reopen()) : null,
      close: () => wipe(backupKey),
    }
  } catch (error) {
    wipe(backupKey)
    throw error
  }
}

function* chatPiecesOf(backup: OpenBackup): Generator<ChatPiece> {
  try {
    for (const record of backup.records()) if ('file' in record) yield record
  } finally {
    backup.close()
  }
}

function* rowsOf(backup: OpenBackup): Generator<{ collection: string; row: Row }> {
  try {
    for (const record of backup.records())
      if ('slot' in record && record.collection !== HEADS) yield { collection: record.collection, row: record }
  } finally {
    backup.close()
  }
}

const isDeviceRecord = (name: string): boolean => DEVICE_RECORDS.some((known) => known === name)

function replaceRecords(
  rows: Rows,
  device: DeviceArea,
  extent: 'full' | 'partial',
  records: Iterable<BackupRecord>,
): void {
  const replaced: readonly string[] = extent === 'full' ? DEVICE_RECORDS : [CLUSTER_CA]
  const missing = new Set(replaced)
  for (const own of [TLS_IDENTITY, CHAT_TLS_IDENTITY]) missing.delete(own) // without them the device keeps what it has
  for (const collection of BACKUP_COLLECTIONS) rows.clear(collection)
  for (const record of records) {
    if ('slot' in record) rows.insert(record.collection, record)
    else if ('name' in record && replaced.includes(record.name)) {
      device.put(record.name, record.value)
      missing.delete(record.name)
    }
  }
  for (const name of missing) device.remove(name)
  removeWaiting(device)
}

function replaceSlots(device: DeviceArea, extent: 'full' | 'partial', { attendedSlot, unattendedSlot }: Header): void {
  const former = device.get(ATTENDED)
  if (former !== null && equalBytes(former, attendedSlot)) return // the same domain key: unattended starts stay as set
  device.put(ATTENDED, attendedSlot)
  device.remove(BESIDE_ATTENDED)
  const domainKey = extent === 'full' ? device.openOwn(unattendedSlot) : null
  if (domainKey === null) device.remove(UNATTENDED)
  else device.put(UNATTENDED, domainKey)
  if (domainKey !== null) wipe(domainKey)
}
