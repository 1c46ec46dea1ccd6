/** The appliance's states, and the keys that come and go with them. Contract section 2. */

import type { AuditLog } from '../audit/audit-log.ts'
import { Backups } from '../backup/backups.ts'
import { importRecords } from '../backup/nethsm/import-records.ts'
import { waiting } from '../backup/nethsm/waiting.ts'
import { actAlone, assertAdmitted } from '../base/admission.ts'
import { type Clock, createClock } from '../base/clock.ts'
import { CofferError } from '../base/error.ts'
import { ANYBODY, createFairQueue, INSIDE, type Place } from '../base/fair-queue.ts'
import type { Log } from '../base/log.ts'
import { wipe } from '../base/secret.ts'
import type { State } from '../base/states.ts'
import { PRODUCT } from '../channel/product.ts'
import type { LastStart } from '../channel/protocol.ts'
import { Configuration } from '../configuration/configuration.ts'
import type { DeviceRecords } from '../configuration/device-records.ts'
import { type Random, systemRandom } from '../crypto/random.ts'
import { deriveSealKey, equalBytes } from '../crypto/seal.ts'
import type { TlsIdentity } from '../crypto/tls/identity.ts'
import type { CryptoPool, ScryptCost } from '../crypto/types.ts'
import { COLLECTION_NAMES } from '../kms/domain/collections.ts'
import type { Operational } from '../kms/domain/operational.ts'
import { ATTENDED, type DeviceArea, UNATTENDED } from '../store/device-area.ts'
import { newDomainKey, UNLOCK_COST } from '../store/key-slots.ts'
import type { Change, RecordStore, StoreFile } from '../store/store.ts'
import { holdsRecords, openVault, type Vault } from '../store/vault.ts'
import { deviceIdOf } from './device-id.ts'
import { type Disk, openDisk, restoreClock } from './disk.ts'
import { DomainKeySlot } from './domain-key.ts'
import { checkLastStart, keepLastStart } from './last-start.ts'
import { States, TRANSITIONS, type Trigger } from './states.ts'
import { describe, Tolerance } from './tolerance.ts'

const FLUSH_INTERVAL_MS = 3_600_000 // operation counters are persisted at least hourly, contract section 6.2
const DERIVATIONS_MAX = 16 // waiting for one another at half a second each

/** What the appliance must know of the domain it opens. */
export interface OpenDomain {
  /** Persists the operation counters: all of it begins in this turn, or, `slowly`, one change after the other. */
  flush(slowly?: boolean): Promise<void> | void
  /** Wipes what is remembered. */
  close(): void
}

export interface DomainServices {
  pool: CryptoPool
  random: Random
  log: Log
  clock: Clock
  /** The name under which this device counts operations. */
  member: string
}

export interface ApplianceOptions<D extends OpenDomain = Operational> {
  dataDirectory: string
  /** Null when it is lost: the appliance is then Failed. The caller may wipe it afterwards. */
  deviceKey: Uint8Array | null
  /** Why the machine does not give the device key as it was started; the appliance then stays Locked, also unattended. */
  withheld?: string | undefined
  /** Of the last start that was counted; absent where nothing counts. */
  count?: number | undefined
  /** Of this software. */
  version?: string
  pool: CryptoPool
  log: Log
  openDomain: (records: RecordStore, services: DomainServices) => D
  /** What the service keeps in the store. */
  collections?: readonly string[]
  /** The records that provisioning begins with. */
  firstAdministrator: (passphrase: Uint8Array, services: DomainServices) => Promise<Change[]>
  makeTlsIdentity: () => TlsIdentity | Promise<TlsIdentity>
  clock?: Clock
  random?: Random
  unlockCost?: ScryptCost
  /** Where SQLite's native code lies, when not in its package. */
  nativeBinding?: string
}

export interface Provisioning {
  unlockPassphrase: Uint8Array
  adminPassphrase: Uint8Array
  systemTimeMs: number
}

/** All there is while Operational. */
interface Session<D> extends Disk {
  vault: Vault
  domain: D
}

/**
 * Opens the store or makes a new one, and starts unattended where that is on. A store that cannot be used leads to the
 * state Failed, never to an error.
 */
export async function openAppliance<D extends OpenDomain>(options: ApplianceOptions<D>): Promise<Appliance<D>> {
  const appliance = new Appliance(options)
  await appliance.start()
  return appliance
}

export class Appliance<D extends OpenDomain = Operational> {
  readonly clock: Clock
  /** What Administrators set of the device itself. */
  readonly configuration: Configuration
  readonly backups: Backups
  /** What the device itself can open. */
  readonly deviceRecords: DeviceRecords
  /** Stable per installation; contract section 4.8. */
  readonly deviceId: string
  readonly #options: ApplianceOptions<D>
  readonly #services: DomainServices
  readonly #log: Log
  readonly #random: Random
  readonly #collections: readonly string[]
  readonly #derivations = createFairQueue(DERIVATIONS_MAX)
  readonly #states: States
  readonly #tolerance: Tolerance
  readonly #slot: DomainKeySlot
  #failure: string | undefined
  #openFailure: string | undefined
  #disk: Disk | undefined
  #session: Session<D> | undefined
  #flushTimer: NodeJS.Timeout | undefined

  constructor(options: ApplianceOptions<D>) {
    this.#options = options
    this.#log = options.log
    this.#states = new States(options.log)
    this.#tolerance = new Tolerance(options.log)
    this.#random = options.random ?? systemRandom
    this.#collections = options.collections ?? COLLECTION_NAMES
    this.clock = options.clock ?? createClock()
    this.deviceId = deviceIdOf(options.deviceKey)
    const { pool, log, unlockCost: cost = UNLOCK_COST } = options
    this.#slot = new DomainKeySlot({ pool, random: this.#random, cost })
    this.#services = { pool, random: this.#random, log, clock: this.clock, member: this.deviceId }
    const records: DeviceRecords = {
      read: <T>(what: string, read: (area: DeviceArea) => T): T | undefined =>
        this.#tolerance.attempt(what, () => (this.#disk === undefined ? undefined : read(this.#disk.device))),
      write: (change: (area: DeviceArea) => void): void => {
        const { store, device } = this.#expectSession()
        store.transaction(() => change(device))
        this.#tolerance.attempt('clearing the log of the store', () => store.checkpoint()) // a replaced key does not stay behind
      },
      keep: (what: string, change: (area: DeviceArea) => void): void => {
        const disk = this.#disk
        if (disk !== undefined) this.#tolerance.attempt(what, () => disk.store.transaction(() => change(disk.device)))
      },
    }
    this.deviceRecords = records
    this.configuration = new Configuration({ ...this.#services, records })
    this.backups = new Backups({
      ...this.#services,
      dataDirectory: options.dataDirectory,
      deviceId: this.deviceId,
      records,
      cost,
      inTurn: (task) => this.#derivations.run(INSIDE, task),
      openStore: () => {
        if (this.#disk === undefined || this.#states.current === 'Locked') throw unavailable()
        return { ...this.#disk, session: this.#session ?? null }
      },
      restart: (domainKey) => this.#restart(domainKey),
    })
  }

  get state(): State {
    return this.#states.current
  }

  /** Another object after each change of state, and when the records were replaced by others. */
  get era(): object {
    return this.#states.era
  }

  /** Why the appliance is Failed, or Locked with nothing that unlocks it; for the operator, names no path. */
  get failure(): string | undefined {
    return this.#failure
  }

  /** Why the records could not be opened, with the right key, when that was tried last; told like a change of state. */
  get openFailure(): string | undefined {
    return this.#openFailure
  }

  /** Called once, by `openAppliance`. */
  async start(): Promise<void> {
    try {
      if (this.#options.withheld) this.#stayLocked(this.#options.withheld)
      else {
        const { dataDirectory, deviceKey, nativeBinding } = this.#options
        const { random, log, clock } = this.#services
        const onDamage = this.#noteDamage
        this.#disk = openDisk({ dataDirectory, deviceKey, nativeBinding, random, log, clock, onDamage })
        checkLastStart(this.#disk, this.#options.version ?? PRODUCT.version, this.#options.count)
        this.#tolerance.attempt('clearing up', () => this.backups.removeLeftovers())
        const disk = this.#disk
        this.#tolerance.attempt('restoring the time', () => restoreClock(disk, this.clock))
        await this.#boot(disk)
      }
    } catch (error) {
      this.#fail(error)
    }
    this.configuration.load()
    this.configuration.tls.use(await this.#restoreTlsIdentity())
    this.#flushTimer = setInterval(() => this.#flush(true), FLUSH_INTERVAL_MS).unref()
    // A thread tells it in the name of the request that it was started for, which may be over.
    this.#options.pool.onTested((wrong) => actAlone(() => this.#judge(wrong)))
  }

  /** The domain, or `unavailable` unless Operational. */
  open(): D {
    return this.#expectSession().domain
  }

  /** The identity made at the first start, or set since; a temporary one where that cannot be read. */
  tlsIdentity(): TlsIdentity {
    return this.configuration.tls.identity
  }

  /** `listener` is called after each change of state. */
  onState(listener: (state: State) => void): void {
    this.#states.onState(listener)
  }

  /** `listener` is called when an era has ended; the next one may still be on its way. */
  onEra(listener: () => void): void {
    this.#states.onEra(listener)
  }

  /** All or nothing: key slot, first administrator and time in one transaction. */
  provision({ unlockPassphrase, adminPassphrase, systemTimeMs }: Provisioning): Promise<void> {
    const requestedAtMs = this.clock.now()
    return this.#derivations.run(INSIDE, async () => {
      this.#expect('provision')
      const domainKey = newDomainKey(this.#random)
      try {
        const slots = await this.#slot.seal(domainKey, unlockPassphrase)
        const records = await this.#options.firstAdministrator(adminPassphrase, this.#services)
        const { store, device } = this.#expect('provision')
        const vault = this.#openVault(store, domainKey)
        const timeMs = systemTimeMs + this.clock.now() - requestedAtMs // the derivations took their time
        const provisioned = vault.change(() => ({
          changes: records,
          result: undefined,
          alongside: () => {
            this.#slot.put(device, slots)
            device.putTimeOffsetMs(this.#offsetOf(timeMs))
          },
        }))
        vault.settle()
        await provisioned
        this.clock.set(timeMs)
        this.#admit('provision', vault)
      } finally {
        if (this.#session === undefined) wipe(domainKey)
      }
    })
  }

  /** Throws `forbidden` when the passphrase is wrong. */
  unlock(passphrase: Uint8Array, place: Place = ANYBODY): Promise<void> {
    return this.#derivations.run(place, async () => {
      if (this.#states.current === 'Locked' && this.#failure !== undefined)
        throw new CofferError('storage', this.#failure)
      const { domainKey, beside } = await this.#slot.open(this.#expect('unlock').device, passphrase)
      try {
        const disk = this.#expect('unlock')
        this.#tolerance.attempt('keeping the domain key for backups', () => this.#slot.keepBeside(disk, beside))
        const vault = this.#openVault(disk.store, domainKey)
        await this.#importRecords(disk, vault)
        this.#admit('unlock', vault)
      } finally {
        if (this.#session === undefined) wipe(domainKey)
      }
    })
  }

  lock(): void {
    const { audit } = this.#expect('lock')
    this.#tolerance.attempt('writing the audit log', () => audit.flush())
    this.#endSession()
    this.#states.enter(TRANSITIONS.lock.to)
  }

  /** Throws `forbidden` when the current passphrase is wrong. */
  changeUnlockPassphrase(current: Uint8Array, next: Uint8Array): Promise<void> {
    return this.#derivations.run(INSIDE, async () => {
      const session = this.#expectSession()
      const { domainKey } = await this.#slot.open(session.device, current)
      try {
        const slots = await this.#slot.seal(domainKey, next)
        if (this.#expectSession() !== session) throw unavailable() // locked and unlocked meanwhile
        if (!equalBytes(domainKey, session.vault.domainKey)) {
          throw new CofferError('storage', 'The sealed domain key is not the one in use')
        }
        session.store.transaction(() => this.#slot.put(session.device, slots))
        session.store.checkpoint() // nothing the former passphrase opens stays behind
      } finally {
        wipe(domainKey)
      }
    })
  }

  /** A key for one purpose, made of the domain key; the caller wipes it. Throws `unavailable` unless Operational. */
  deriveKey(purpose: string): Uint8Array {
    return deriveSealKey(this.#expectSession().vault.domainKey, purpose)
  }

  /** Open in every state but Failed. */
  get audit(): AuditLog | undefined {
    return this.#disk?.audit
  }

  /** Write transactions since the start, for the metrics. */
  get writes(): number {
    return this.#disk?.store.writes ?? 0
  }

  get unattendedBoot(): boolean {
    return this.#expectSession().device.has(UNATTENDED)
  }

  setUnattendedBoot(on: boolean): void {
    const { vault, store, device } = this.#expectSession()
    store.transaction(() => (on ? device.put(UNATTENDED, vault.domainKey) : device.remove(UNATTENDED)))
    if (!on) store.checkpoint() // nothing the device key alone opens stays behind
  }

  setTime(timeMs: number): void {
    const { store, device } = this.#expectSession()
    store.transaction(() => device.putTimeOffsetMs(this.#offsetOf(timeMs)))
    this.clock.set(timeMs)
  }

  /** The machine's clock has the time of a server: no offset to it, also after the next start. */
  followMachineClock(): void {
    this.clock.set(this.clock.now() - this.clock.offsetMs)
    const disk = this.#disk
    if (disk === undefined || !disk.device.readTimeOffsetMs()) return
    this.#tolerance.attempt('storing the time', () => disk.store.transaction(() => disk.device.putTimeOffsetMs(0)))
  }

  /** Gives the count that the store now holds, on disk; undefined when it could not be written. */
  keepStart(start: LastStart): number | null | undefined {
    return this.#tolerance.attempt('keeping this start in the store', () => {
      if (this.#disk === undefined) throw unavailable()
      return keepLastStart(this.#disk, start)
    })
  }

  /** Counters flushed, log checkpointed, keys wiped. The appliance cannot be used afterwards; a second call does nothing. */
  close(): void {
    clearInterval(this.#flushTimer)
    if (this.#session !== undefined) this.#endSession()
    this.#closeDisk()
  }

  #closeDisk(): void {
    const disk = this.#disk
    this.#disk = undefined
    if (disk === undefined) return
    disk.audit.close()
    disk.device.close()
    this.#tolerance.attempt('closing the store', () => disk.store.close())
  }

  async #boot(disk: Disk): Promise<void> {
    const { store, device } = disk
    if (device.has(ATTENDED)) {
      this.#states.begin('Locked')
      await this.#startUnattended(disk)
    } else if (device.has(UNATTENDED) || holdsRecords(store, this.#collections)) {
      throw new CofferError('storage', 'The store is damaged: its sealed domain key is missing')
    } else this.#states.begin('Unprovisioned')
  }

  async #startUnattended(disk: Disk): Promise<void> {
    await this.#tolerance.attemptSlowly('starting unattended', async () => {
      const domainKey = disk.device.get(UNATTENDED)
      if (domainKey !== null) await this.#admitAfterAdoption(disk, domainKey)
    })
  }

  /** Goes on with records that were replaced: what is remembered of the former ones is dropped, counters included. */
  async #restart(domainKey: Uint8Array | null): Promise<void> {
    const disk = this.#disk
    if (disk === undefined) throw unavailable() // Failed meanwhile
    const wasOpen = this.#session !== undefined
    if (wasOpen) this.#dropSession()
    if (domainKey !== null) {
      if (waiting(disk.device) !== null) this.#states.enter('Locked')
      await this.#tolerance.attemptSlowly('opening what was restored', () => this.#admitAfterAdoption(disk, domainKey))
      return
    }
    this.#states.enter('Locked')
    if (wasOpen) return
    this.configuration.reload()
    await this.#startUnattended(disk)
  }

  /** Without waiting where nothing is to be imported. Takes over the domain key. */
  #admitAfterAdoption(disk: Disk, domainKey: Uint8Array): Promise<void> | void {
    const vault = this.#openVault(disk.store, domainKey)
    if (waiting(disk.device) === null) return this.#admit('unlock', vault)
    return this.#importRecords(disk, vault).then(() => this.#admit('unlock', vault))
  }

  /** What a restored backup in the form of a NetHSM brought becomes records. The vault is closed where that fails. */
  async #importRecords({ store, device }: Disk, vault: Vault): Promise<void> {
    try {
      const onDamage = this.#noteDamage
      await importRecords({ store, device, records: vault, pool: this.#options.pool, onDamage })
      this.#expect('unlock') // the store may have been closed meanwhile
    } catch (error) {
      vault.close()
      throw error
    }
  }

  /** The store is whole and is left alone: it opens again when the machine is started as it was. */
  #stayLocked(reason: string): void {
    this.#states.begin('Locked')
    this.#failure = `The device key is withheld: ${reason}`
    this.#log.error('general', `locked: ${this.#failure}`)
  }

  #fail(error: unknown): void {
    this.#closeDisk()
    this.#states.begin('Failed')
    this.#failure = error instanceof CofferError ? error.message : 'The store cannot be opened'
    this.#log.error('general', `failed: ${describe(error)}`)
  }

  /** Where one algorithm does not give its known answer, none is used any more. */
  #judge(wrong: readonly string[]): void {
    if (wrong.length === 0 || this.#states.current === 'Failed') return
    this.#failure = `Signatures come out wrong (${wrong.join('; ')}): this computer or this software is broken`
    this.#log.error('general', `failed: ${this.#failure}`)
    if (this.#session !== undefined) this.#endSession()
    this.#closeDisk()
    this.#options.pool.close().catch((error) => this.#tolerance.note('ending the crypto threads', error))
    this.#states.enter('Failed')
  }

  async #restoreTlsIdentity(): Promise<TlsIdentity> {
    const stored = this.#tolerance.attempt(
      'reading the TLS identity',
      () => this.#disk?.device.readTlsIdentity() ?? null,
    )
    if (stored) return stored
    const identity = await this.#options.makeTlsIdentity()
    const disk = this.#disk
    // One that cannot be read is kept as it is: this one serves until the next start.
    if (stored === null && disk !== undefined) {
      this.#tolerance.attempt('storing the TLS identity', () =>
        disk.store.transaction(() => disk.device.putTlsIdentity(identity)),
      )
    }
    return identity
  }

  #openVault(store: StoreFile, domainKey: Uint8Array): Vault {
    return openVault(store, domainKey, this.#random, this.#noteDamage, this.#collections)
  }

  /** Opens the domain; without it the appliance is Locked. */
  #admit(trigger: Trigger, vault: Vault): void {
    try {
      this.#session = { ...this.#disk!, vault, domain: this.#options.openDomain(vault, this.#services) }
      void actAlone(() => vault.watch())
    } catch (error) {
      vault.close()
      this.#openFailure = describe(error)
      if (this.#states.current === 'Locked') this.#states.tell()
      else this.#states.enter('Locked')
      throw error
    }
    this.#openFailure = undefined
    this.#states.enter(TRANSITIONS[trigger].to)
  }

  /** What was asked for before the end is done before it. */
  #endSession(): void {
    this.#flush()
    this.#session!.vault.settle()
    this.#dropSession()
  }

  #dropSession(): void {
    const { vault, domain } = this.#session!
    this.#session = undefined
    this.#states.endEra()
    this.backups.sessionEnds()
    domain.close()
    vault.close()
    this.#options.pool.forgetAll()
  }

  #flush(slowly = false): void {
    const what = 'persisting counters'
    const stored = this.#tolerance.attempt(what, () => this.#session?.domain.flush(slowly))
    stored?.catch((error) => this.#tolerance.note(what, error))
  }

  #offsetOf(timeMs: number): number {
    return this.clock.offsetMs + timeMs - this.clock.now()
  }

  #expect(trigger: Trigger): Disk {
    assertAdmitted()
    if (this.#states.current !== TRANSITIONS[trigger].from || this.#disk === undefined) throw unavailable()
    return this.#disk
  }

  #expectSession(): Session<D> {
    if (this.#session === undefined) throw unavailable()
    return this.#session
  }

  readonly #noteDamage = (message: string): void => this.#log.error('general', message)
}

const unavailable = (): CofferError => new CofferError('unavailable', 'Service not available')
