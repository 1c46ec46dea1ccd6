/** Backups of the appliance: made of an open one, restored into an open or an empty one. Contract sections 2 and 8. */

import { defined } from '../base/defined.ts'
import { CofferError, wrongState } from '../base/error.ts'
import { passOn } from '../base/iteration.ts'
import { wipe } from '../base/secret.ts'
import { readText } from '../configuration/device-records.ts'
import { ATTENDED, BESIDE_ATTENDED, LAST_BACKUP, RESTORE_REPORT, UNATTENDED } from '../store/device-area.ts'
import { type LockedDomainKey, lockedDomainKeyOf } from '../store/key-slots.ts'
import { removeSnapshot } from '../store/snapshot.ts'
import type { Vault } from '../store/vault.ts'
import { type BackupKey, checkBackupPassphrase, readBackupKey, setBackupPassphrase } from './backup-key.ts'
import type { ChatBackups, ChatCopy } from './chat.ts'
import { lostData, type Omitted, omittedByNethsm } from './nethsm/omissions.ts'
import { writeBackup as writeForNetHsm } from './nethsm/writer.ts'
import { type Restoration, replaceRecords } from './replacement.ts'
import { EMPTY_REPORT, parseReport, type RestoreReport } from './restore-report.ts'
import type { BackupServices, OpenStore } from './services.ts'
import { removeSpool, type Spool } from './spool.ts'
import { createUploads, type RestoreUploads } from './uploads.ts'
import { writeBackup } from './writer.ts'

/** A NetHSM's, which its tools read, or our own, which holds everything. Contract section 8.2. */
export const BACKUP_FORMATS = ['nethsm', 'coffer'] as const
export type BackupFormat = (typeof BACKUP_FORMATS)[number]

interface Backup {
  stream: AsyncIterable<Uint8Array>
  format: BackupFormat
  /** Empty for a backup that holds everything. */
  omitted: readonly Omitted[]
}

export class Backups {
  /** Null where there is no place for one. */
  chat: ChatBackups | null = null
  readonly #services: BackupServices
  readonly #uploads: RestoreUploads
  /** Ends the latest backup that needs the domain key; also set after its end. */
  #abort: () => void = () => {}

  constructor(services: BackupServices) {
    this.#services = services
    this.#uploads = createUploads(services.dataDirectory, services.space)
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
    const { runQueued, random, pool, cost } = this.#services
    return runQueued(async () => {
      const { vault } = this.#open().session
      if (current !== null) await checkBackupPassphrase(vault, current, { pool, cost })
      await setBackupPassphrase(vault, next, { pool, cost }, random)
    })
  }

  /**
   * To be iterated once or returned from. Throws `unavailable` without a passphrase, `busy` while one is being made. It is in
   * our own form where the unlock passphrase was not given since older software ran: `format` says so.
   */
  async make(wanted: BackupFormat): Promise<Backup> {
    const backup = await this.#begin(wanted)
    return backup.omitted.length > 0 ? backup : { ...backup, stream: this.#noted(backup.stream) }
  }

  get defaultFormat(): BackupFormat {
    return this.lostByNethsm.length > 0 ? 'coffer' : 'nethsm'
  }

  /** Data for which the default is the own form. */
  get lostByNethsm(): readonly Omitted[] {
    return lostData(this.omittedByNethsm)
  }

  get omittedByNethsm(): readonly Omitted[] {
    return this.#omittedByNethsm(this.#open())
  }

  #omittedByNethsm({ session, device }: OpenStore & { session: OpenSession }): Omitted[] {
    const { vault, domain } = session
    return omittedByNethsm({
      device,
      records: vault,
      hasChat: this.#hasChat,
      hasKeyVersions: domain.keys?.haveVersions ?? false,
    })
  }

  /** When the last complete one was sent to its end, in milliseconds since 1970; null for never. */
  get lastMs(): number | null {
    const text = readText(this.#services.records, LAST_BACKUP)
    return text == null ? null : Number(text)
  }

  /** Lists what the last restore left out; empty before the first. */
  get restoreReport(): RestoreReport {
    const text = readText(this.#services.records, RESTORE_REPORT)
    return text == null ? EMPTY_REPORT : parseReport(text)
  }

  #noted(stream: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    const bytes = new TextEncoder().encode(`${this.#services.clock.now()}`)
    return passOn(stream, ({ done }) => {
      if (done) this.#services.records.keep('store the time of the backup', (area) => area.put(LAST_BACKUP, bytes))
    })
  }

  async #begin(wanted: BackupFormat): Promise<Backup> {
    const { session } = this.#open()
    await session.domain.flush(true) // counters are part of it
    const { device } = this.#open(session)
    const lockedDomainKey = lockedDomainKeyOf(
      defined(device.get(ATTENDED)),
      device.get(BESIDE_ATTENDED),
      this.#services.cost,
    )
    if (wanted === 'nethsm' && lockedDomainKey !== null) return this.#makeForNetHsm(session, lockedDomainKey)
    const chat = this.chat !== null && this.#hasChat ? await this.chat.copy() : null
    const omitted: readonly Omitted[] = this.#hasChat && chat === null ? ['chat'] : []
    try {
      return { stream: this.#write(session, chat), format: 'coffer', omitted }
    } catch (error) {
      chat?.end()
      throw error
    }
  }

  get #hasChat(): boolean {
    return this.chat?.exists ?? false
  }

  #makeForNetHsm(session: OpenSession, lockedDomainKey: LockedDomainKey): Backup {
    const { deviceId, random } = this.#services
    const open = this.#open(session)
    const { store, device } = open
    const backupKey = expectBackupKey(session.vault)
    const { domainKey } = session.vault
    const stream = writeForNetHsm({ store, device, deviceId, domainKey, lockedDomainKey, backupKey, random })
    this.#abort = () => stream.abort()
    return { stream, format: 'nethsm', omitted: this.#omittedByNethsm(open) }
  }

  #write(session: OpenSession, chat: ChatCopy | null): AsyncIterable<Uint8Array> {
    const { store, device } = this.#open(session)
    const backupKey = expectBackupKey(session.vault)
    const { deviceId, clock, random } = this.#services
    const header = {
      madeAtMs: clock.now(),
      deviceId,
      attendedSlot: defined(device.get(ATTENDED)),
      unattendedSlot: device.has(UNATTENDED) ? device.sealForItself(session.vault.domainKey) : new Uint8Array(),
    }
    return writeBackup({ store, device, header, backupKey, random, chat })
  }

  /** The domain key goes: what is being made with it ends. */
  sessionEnds(): void {
    this.#abort()
    this.#abort = () => {}
  }

  /** A place for an upload; the caller closes it. `refuse` is called when another one is to have it. */
  receive(refuse: (error: CofferError) => void): Spool {
    this.#services.openStore()
    return this.#uploads.receive(refuse)
  }

  /** All or nothing; other writes get `busy` meanwhile. Throws `invalid` when it cannot be opened, or is not whole. */
  restore(spool: Spool, restoration: Restoration): Promise<void> {
    return this.#services.runQueued(() => replaceRecords(this.#services, this.chat, spool.source, restoration))
  }

  /** Throws `unavailable` unless Operational, and when that is another session than `expected`. */
  #open(expected?: OpenSession): OpenStore & { session: OpenSession } {
    const { session, ...disk } = this.#services.openStore()
    if (session === null || (expected !== undefined && session !== expected)) throw wrongState()
    return { ...disk, session }
  }
}

type OpenSession = NonNullable<OpenStore['session']>

function expectBackupKey(vault: Vault): BackupKey {
  const key = readBackupKey(vault)
  if (key === null) throw new CofferError('unavailable', 'No backup passphrase is set')
  return key
}
