/** The parts of an appliance, and what it must know of the service whose records it keeps. */

import type { Clock } from '../base/clock.ts'
import type { DiskUsage } from '../base/disk-space.ts'
import type { Log } from '../base/log.ts'
import type { LoginLimiter } from '../base/login-limiter.ts'
import type { EtcdService } from '../cluster/etcd/service.ts'
import type { ClusterLink } from '../cluster/node/link.ts'
import type { Random } from '../crypto/random.ts'
import type { TlsIdentity } from '../crypto/tls/identity.ts'
import type { CryptoPool, ScryptCost } from '../crypto/types.ts'
import type { DomainServices, OpenServices } from '../device/domain-services.ts'
import type { Operational } from '../kms/domain/operational.ts'
import type { Change, RecordStore } from '../store/store.ts'

/** The domain, as the appliance that opens it must know it. */
export interface OpenDomain {
  /** Persists the operation counters: all of it begins in this turn, or, `slowly`, one change after the other. */
  flush(slowly?: boolean): Promise<void> | void
  /** Wipes what is remembered. */
  close(): void
  /** Absent in tests without keys. */
  readonly keys?: { readonly haveVersions: boolean }
}

export interface ApplianceOptions<D extends OpenDomain = Operational> {
  dataDirectory: string
  /** Null when it is lost: the appliance is then Failed. The caller may wipe it afterwards. */
  deviceKey: Uint8Array | null
  /** Why the machine does not give the device key as it was started; the appliance then stays Locked, also unattended. */
  withheld?: string | undefined
  /** Number of the last counted start; absent if nothing counts. */
  count?: number | undefined
  version?: string
  pool: CryptoPool
  log: Log
  openDomain: (records: RecordStore, services: OpenServices) => D
  /** Names of the collections that the service keeps in the store. */
  collections?: readonly string[]
  firstAdministrator: (passphrase: Uint8Array, services: DomainServices) => Promise<Change[]>
  makeTlsIdentity: () => TlsIdentity | Promise<TlsIdentity>
  clock?: Clock
  random?: Random
  unlockCost?: ScryptCost
  /** On failed attempts, of those who log in as of those who unlock. */
  limiter?: LoginLimiter
  cluster?: ClusterLink | undefined
  /** Absent where it is alone for ever. */
  etcd?: EtcdService | undefined
  /** For the budgets of the audit log, and how long the others of a cluster have not answered; must never jump. */
  nowMs?: () => number
  /** Where SQLite's native code lies, when not in its package. */
  nativeBinding?: string
  /** How full the disk is that the store lies on. Throws an error of the file system. */
  readDisk?: () => DiskUsage
}
