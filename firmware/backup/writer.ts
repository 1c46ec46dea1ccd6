/** Writes a backup in our own form from a snapshot of the store, as fast as it is read. Contract section 8.2. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { concatBytes } from '@noble/hashes/utils.js'
import { wipe } from '../base/secret.ts'
import type { Random } from '../crypto/random.ts'
import { SEAL_KEY_BYTES } from '../crypto/seal.ts'
import { DEVICE_RECORDS, type DeviceArea } from '../store/device-area.ts'
import { type Snapshot, takeSnapshot } from '../store/snapshot.ts'
import type { StoreFile } from '../store/store.ts'
import type { BackupKey } from './backup-key.ts'
import type { ChatCopy } from './chat.ts'
import {
  BACKUP_COLLECTIONS,
  type DeviceRecord,
  encodePreamble,
  type Header,
  sealHeader,
  sealRecord,
  sealTrailer,
} from './container.ts'

interface BackupOptions {
  store: StoreFile
  device: DeviceArea
  header: Header
  /** Wiped at the end. */
  backupKey: BackupKey
  random: Random
  /** Ended at the end. */
  chat?: ChatCopy | null
}

/** The store as it is now, whatever happens to it while the backup is read. Throws `busy` while there is another. */
export function writeBackup(options: BackupOptions): AsyncIterable<Uint8Array> {
  const { store, device, backupKey } = options
  const chunkKey = options.random(SEAL_KEY_BYTES)
  const records: DeviceRecord[] = []
  let snapshot: Snapshot | undefined
  const release = (): void => {
    snapshot?.close()
    options.chat?.end()
    wipe(chunkKey, backupKey.key, ...records.map(({ value }) => value))
  }
  try {
    for (const name of [...DEVICE_RECORDS].sort()) {
      const value = device.get(name)
      if (value !== null) records.push({ name, value })
    }
    snapshot = takeSnapshot(store, BACKUP_COLLECTIONS)
  } catch (error) {
    release()
    throw error
  }
  return releasing(write(options, snapshot, records, chunkKey), release)
}

/** `last` is called, once, when all was read, or nothing more will be. */
export function releasing(chunks: AsyncGenerator<Uint8Array, void>, last: () => void): AsyncIterable<Uint8Array> {
  let isReleased = false
  const release = (): void => {
    if (isReleased) return
    isReleased = true
    last()
  }
  const finish = async <T>(pending: Promise<T>): Promise<T> => {
    try {
      return await pending
    } catch (error) {
      release()
      throw error
    }
  }
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const result = await finish(chunks.next())
        if (result.done) release()
        return result
      },
      /** Also before the first piece was asked for, when a generator would not clean up. */
      async return() {
        const result = await finish(chunks.return())
        release()
        return result
      },
    }),
  }
}

async function* write(
  { header, backupKey, random, chat }: BackupOptions,
  snapshot: Snapshot,
  records: readonly DeviceRecord[],
  chunkKey: Uint8Array,
): AsyncGenerator<Uint8Array, void> {
  let position = 0
  yield concatBytes(encodePreamble(backupKey.salt), sealHeader(header, chunkKey, backupKey.key, random))
  yield concatBytes(...records.map((record) => sealRecord(record, position++, chunkKey, random)))
  for (const collection of BACKUP_COLLECTIONS) {
    for (const page of snapshot.pages(collection)) {
      yield concatBytes(...page.map((row) => sealRecord({ collection, ...row }, position++, chunkKey, random)))
      await nextTurn() // a fast reader must not keep others waiting
    }
  }
  if (chat != null) for await (const piece of chat.pieces()) yield sealRecord(piece, position++, chunkKey, random)
  yield sealTrailer(position, chunkKey, random)
}
