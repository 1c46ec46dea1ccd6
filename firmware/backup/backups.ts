/** Backups of the appliance: made of an open one, restored into an open or an empty one. Contract sections 2 and 8. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import type { Random } from '../crypto/random.ts'
import { equalBytes, wipe } from '../crypto/seal.ts'
import type { CryptoPool, ScryptCost } from '../crypto/types.ts'
import { ATTENDED, type DeviceArea, UNATTENDED } from '../device-area.ts'
import { CofferError } from '../error.ts'
import { removeSnapshot } from '../store/snapshot.ts'
import type { StoreFile } from '../store/store-file.ts'
import type { Vault } from '../store/vault.ts'
import { checkBackupPassphrase, readBackupKey, setBackupPassphrase } from './backup-key.ts'
import { verifyBackup } from './restore.ts'
import { createSpool, removeSpool, type Spool } from './spool.ts'
import { writeBackup } from './writer.ts'

/** The disk, and what there is beside it while Operational. */
export interface OpenStore {
  store: StoreFile
  device: DeviceArea
  session: { vault: Vault; domain: { flushSome(): boolean } } | null
}

/** What backups need of the appliance. */
export interface BackupServices {
  dataDirectory: string
  deviceId: string
  pool: CryptoPool
  random: Random
  clock: Clock
  /** Of deriving the backup key. */
  cost: ScryptCost
  /** Runs what derives a key, one after the other. */
  inTurn: <T>(task: () => Promise<T>) => Promise<T>
  /** Throws `unavailable` unless Unprovisioned or Operational. */
  openStore(): OpenStore
  /**
   * The records have been replaced. With a domain key, which it takes over, the appliance goes on Operational; without,
   * it is as after a start.
   */
  restart(domainKey: Uint8Array | null): void
}

export interface Restoration {
  /** Null where that of the backup shall be the current one. */
  passphrase: Uint8Array | null
  /** By the appliance's clock when the request came in. */
  requestedAtMs: number
  /** What time it was then; null leaves the clock alone. */
  systemTimeMs: number | null
}

export class Backups {
  readonly #services: BackupServices
  #receiving = false

  constructor(services: BackupServices) {
    this.#services = services
  }

  /** At a start: nothing but the names of files can be left of backups and restores that were cut short. */
  removeLeftovers(): void {
    removeSpool(this.#services.dataDirectory)
    removeSnapshot(this.#services.dataDirectory)
  }

  get hasPassphrase(): boolean {
    const key = readBackupKey(this.#open().session.vault)
    if (key !== null) wipe(key.key)
    return key !== null
  }

  /** With `current`, throws `forbidden` when that is wrong; before a passphrase was set, it is the empty one. */
  setPassphrase(next: Uint8Array, current: Uint8Array | null): Promise<void> {
    const { inTurn, random, pool, cost } = this.#services
    return inTurn(async () => {
      const { vault } = this.#open().session
      if (current !== null) await checkBackupPassphrase(vault, current, { pool, cost })
      await setBackupPassphrase(vault, next, { pool, cost }, random)
    })
  }

  /** To be iterated once or returned from. Throws `unavailable` without a passphrase, `busy` while one is being made. */
  async make(): Promise<AsyncIterable<Uint8Array>> {
    const { session } = this.#open()
    while (session.domain.flushSome()) await nextTurn() // counters are part of it
    const { store, device, session: now } = this.#open()
    if (now !== session) throw unavailable()
    const backupKey = readBackupKey(session.vault)
    if (backupKey === null) throw new CofferError('unavailable', 'No backup passphrase is set')
    const { deviceId, clock, random } = this.#services
    const { domainKey } = session.vault
    const header = {
      madeAtMs: clock.now(),
      deviceId,
      attendedSlot: device.get(ATTENDED)!,
      unattendedSlot: device.has(UNATTENDED) ? device.sealForItself(domainKey) : new Uint8Array(),
    }
    return writeBackup({ store, device, header, backupKey, random })
  }

  /** A place for an upload, one at a time, else `busy`. The caller closes it. */
  receive(): Spool {
    this.#services.openStore()
    if (this.#receiving) throw new CofferError('busy', 'Another backup is being restored, try again')
    const spool = createSpool(this.#services.dataDirectory)
    this.#receiving = true
    return {
      ...spool,
      close: () => {
        this.#receiving = false
        spool.close()
      },
    }
  }

  /** All or nothing; other writes get `busy` meanwhile. Throws `invalid` when it cannot be opened, or is not whole. */
  restore(spool: Spool, { passphrase, requestedAtMs, systemTimeMs }: Restoration): Promise<void> {
    const { inTurn, clock, pool, cost } = this.#services
    return inTurn(async () => {
      const before = this.#services.openStore()
      const { store, device, session } = before
      const current = session === null ? null : readBackupKey(session.vault)
      const claim = store.claim()
      try {
        const backup = await verifyBackup(spool.source, { passphrase, current, pool, cost })
        try {
          if (this.#services.openStore().session !== session) throw unavailable() // locked meanwhile
          const stays = session !== null && equalBytes(backup.header.attendedSlot, device.get(ATTENDED)!)
          claim.transaction(() => {
            backup.replace(store.database, device, session === null ? 'full' : 'partial')
            if (systemTimeMs === null) return
            const timeMs = systemTimeMs + clock.now() - requestedAtMs
            device.putTimeOffsetMs(clock.offsetMs + timeMs - clock.now())
          })
          if (systemTimeMs !== null) clock.set(systemTimeMs + clock.now() - requestedAtMs)
          claim.release()
          this.#services.restart(stays ? session.vault.domainKey.slice() : null)
          store.checkpoint() // nothing of what was replaced stays behind
        } finally {
          backup.close()
        }
      } finally {
        claim.release()
        if (current !== null) wipe(current.key)
      }
    })
  }

  #open(): OpenStore & { session: NonNullable<OpenStore['session']> } {
    const { session, ...disk } = this.#services.openStore()
    if (session === null) throw unavailable()
    return { ...disk, session }
  }
}

const unavailable = (): CofferError => new CofferError('unavailable', 'Service not available')
