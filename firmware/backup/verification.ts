/** A backup, in either form, as restoring sees it. Contract section 8.3. */

import { CofferError } from '../base/error.ts'
import { equalBytes } from '../crypto/seal.ts'
import type { DeviceArea } from '../store/device-area.ts'
import type { Row, Rows } from '../store/store.ts'
import type { BackupKey, Derivation } from './backup-key.ts'
import type { ChatPiece } from './chat.ts'

/** A backup that is whole and of which every bit is the one that was written. */
export interface VerifiedBackup {
  /** True when the appliance has the same domain key under the same passphrase: it can go on with it. */
  fits(device: DeviceArea): boolean
  /**
   * Call within a transaction: users, namespaces, keys, the configuration of the domain and the slot of the domain key
   * become those of the backup, and what it has not is gone. `full` adds all that belongs to the device.
   */
  replace(rows: Rows, device: DeviceArea, extent: 'full' | 'partial'): void
  /** Rows of its collections as they are on disk; null if none of it is sealed as in a store. */
  readonly rows: (() => Iterable<{ collection: string; row: Row }>) | null
  /** The chat's files, to be read once; null where it holds none. */
  readonly chatPieces: (() => Iterable<ChatPiece>) | null
  /** Wipes the keys. */
  close(): void
}

export interface BackupCredentials extends Derivation {
  /** Null where the current backup key shall do. */
  passphrase: Uint8Array | null
  current: BackupKey | null
  /** Called for what is left out. */
  warn: (message: string) => void
}

export async function keyFor(
  salt: Uint8Array,
  { passphrase, current, pool, cost }: BackupCredentials,
): Promise<Uint8Array> {
  if (passphrase !== null) return pool.scrypt(passphrase, salt, cost)
  if (current !== null && equalBytes(current.salt, salt)) return current.key.slice()
  throw new CofferError('invalid', 'backupPassphrase is required: that of the backup is not the current one')
}
