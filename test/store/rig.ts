/** A store in a temporary directory. */

import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { COLLECTION_NAMES } from '../../firmware/kms/domain/collections.ts'
import { openStore, type StoreOptions } from '../../firmware/store/sqlite/file.ts'
import type { Change, RecordStore, StoreFile } from '../../firmware/store/store.ts'
import { openVault, type Vault } from '../../firmware/store/vault.ts'

export const DEVICE_KEY = new Uint8Array(32).fill(7)
export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)
export const text = (bytes: Uint8Array | null): string | null => bytes && new TextDecoder().decode(bytes)

export const commit = (records: RecordStore, changes: readonly Change[]): Promise<void> =>
  records.change(() => ({ changes, result: undefined }))

export interface StoreRig {
  directory: string
  path: string
  reports: string[]
  open(options?: Partial<StoreOptions>): StoreFile
  /** Opens the records of a domain key that is the same for every call. */
  vault(store: StoreFile): Vault
}

export function createStoreRig(t: TestContext): StoreRig {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-test-'))
  const opened: StoreFile[] = []
  t.after(() => {
    for (const store of opened) store.close()
    rmSync(directory, { recursive: true, force: true })
  })
  const reports: string[] = []
  return {
    directory,
    path: join(directory, 'store.db'),
    reports,
    open(options = {}) {
      const store = openStore({ dataDirectory: directory, deviceKey: DEVICE_KEY, ...options })
      opened.push(store)
      return store
    },
    vault: (store) =>
      openVault(store, new Uint8Array(32).fill(3), systemRandom, (message) => reports.push(message), COLLECTION_NAMES),
  }
}

/** Names and contents of a directory's files, but for the lock, which never has any. */
export const digestDirectory = (directory: string): string[] =>
  readdirSync(directory)
    .filter((name) => name !== 'store.lock')
    .sort()
    .map(
      (name) =>
        `${name} ${createHash('sha256')
          .update(readFileSync(join(directory, name)))
          .digest('hex')}`,
    )
