/** Services of the appliance that backups need. */

import type { Clock } from '../base/clock.ts'
import type { DiskSpace } from '../base/disk-space.ts'
import type { Log } from '../base/log.ts'
import type { DeviceRecords } from '../configuration/device-records.ts'
import type { Random } from '../crypto/random.ts'
import type { CryptoPool, ScryptCost } from '../crypto/types.ts'
import type { DeviceArea } from '../store/device-area.ts'
import type { Row, StoreFile } from '../store/store.ts'
import type { Vault } from '../store/vault.ts'

/** The disk, and what there is beside it while Operational. */
export interface OpenStore {
  store: StoreFile
  device: DeviceArea
  session: { vault: Vault; domain: BackedUp; node: Shared | null } | null
}

interface BackedUp {
  flush(slowly: boolean): Promise<void> | void
  /** Absent in tests without keys. */
  readonly keys?: { readonly haveVersions: boolean }
}

/** Present in a cluster: a replacement of the records is made on every node. */
export interface Shared {
  readonly replica: { replaceAll(rows: Iterable<{ collection: string; row: Row }>): Promise<void> }
}

export interface BackupServices {
  dataDirectory: string
  space: DiskSpace
  deviceId: string
  pool: CryptoPool
  random: Random
  clock: Clock
  log: Log
  cost: ScryptCost
  /** Runs what derives a key, one after the other. */
  runQueued: <T>(task: () => Promise<T>) => Promise<T>
  records: DeviceRecords
  /** Throws `unavailable` unless Unprovisioned or Operational. */
  openStore(): OpenStore
  /**
   * The records have been replaced. With a domain key, which it takes over, the appliance goes on Operational; without,
   * it is as after a start.
   */
  restart(domainKey: Uint8Array | null): Promise<void>
  setTime(timeMs: number): void
}
