/** The appliance's states, and the keys that come and go with them. Contract section 2. */

import { type AuditLog, openAuditLog } from '../audit/audit-log.ts'
import { Backups } from '../backup/backups.ts'
import { importRecords } from '../backup/nethsm/import-records.ts'
import { waiting } from '../backup/nethsm/waiting.ts'
import { actAlone, assertAdmitted } from '../base/admission.ts'
import { type Clock, createClock, formatTime } from '../base/clock.ts'
import { CofferError } from '../base/error.ts'
import { ANYBODY, createFairQueue, INSIDE, type Place } from '../base/fair-queue.ts'
import type { Log } from '../base/log.ts'
import { wipe } from '../base/secret.ts'
import type { State } from '../base/states.ts'
import { PRODUCT } from '../channel/product.ts'
import type { LastStart } from '../channel/protocol.ts'
import { Configuration } from '../configuration/configuration.ts'
import { type Random, systemRandom } from '../crypto/random.ts'
import { equalBytes } from '../crypto/seal.ts'
import type { TlsIdentity } from '../crypto/tls/identity.ts'
import type { CryptoPool, ScryptCost } from '../crypto/types.ts'
import { COLLECTION_NAMES } from '../kms/domain/collections.ts'
import type { Operational } from '../kms/domain/operational.ts'
import { ATTENDED, BESIDE_ATTENDED, type DeviceArea, openDeviceArea, UNATTENDED } from '../store/device-area.ts'
import { belongsBeside, newDomainKey, openWithPassphrase, sealForPassphrase, UNLOCK_COST } from '../store/key-slots.ts'
import { openStore } from '../store/sqlite/file.ts'
import type { Change, RecordStore, StoreFile } from '../store/store.ts'
import { holdsRecords, openVault, type Vault } from '../store/vault.ts'
import { deviceIdOf } from './device-id.ts'
import { checkLastStart, keepLastStart } from './last-start.ts'

const FLUSH_INTERVAL_MS = 3_600_000 // operation counters are persisted at least hourly, contract section 6.2
const DERIVATIONS_MAX = 16 // waiting for one another at half a second each

/**
 * What each trigger needs and where it leads. A start leads to any state, an algorithm that is found wrong from any state
 * to Failed, and out of Failed only a restart.
 */
const TRANSITIONS = {
  provision: { from: 'Unprovisioned', to: 'Operational' },
  unlock: { from: 'Locked', to: 'Operational' },
  lock: { from: 'Operational', to: 'Locked' },
} as const satisfies Record<string, { from: State; to: State }>
type Trigger = keyof typeof TRANSITIONS

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

/** The open store; absent when Failed. */
interface Disk {
  store: StoreFile
  device: DeviceArea
  audit: AuditLog
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
  /** Stable per installation; contract section 4.8. */
  readonly deviceId: string
  readonly #options: ApplianceOptions<D>
  readonly #services: DomainServices
  readonly #log: Log
  readonly #random: Random
  readonly #collections: readonly string[]
  readonly #derivations = createFairQueue(DERIVATIONS_MAX)
  readonly #listeners: ((state: State) => void)[] = []
  readonly #eraListeners: (() => void)[] = []
  #era = {}
  #state: State = 'Failed'
  #failure: string | undefined
  #openFailure: string | undefined
  #disk: Disk | undefined
  #session: Session<D> | undefined
  #flushTimer: NodeJS.Timeout | undefined

  constructor(options: ApplianceOptions<D>) {
    this.#options = options
    this.#log = options.log
    this.#random = options.random ?? systemRandom
    this.#collections = options.collections ?? COLLECTION_NAMES
    this.clock = options.clock ?? createClock()
    this.deviceId = deviceIdOf(options.deviceKey)
    const { pool, log } = options
    this.#services = { pool, random: this.#random, log, clock: this.clock, member: this.deviceId }
    const records = {
      read: <T>(what: string, read: (area: DeviceArea) => T): T | undefined =>
        this.#attempt(what, () => (this.#disk === undefined ? undefined : read(this.#disk.device))),
      write: (change: (area: DeviceArea) => void): void => {
        const { store, device } = this.#expectSession()
        store.transaction(() => change(device))
        this.#attempt('clearing the log of the store', () => store.checkpoint()) // a replaced key does not stay behind
      },
    }
    this.configuration = new Configuration({ ...this.#services, records })
    this.backups = new Backups({
      ...this.#services,
      dataDirectory: options.dataDirectory,
      deviceId: this.deviceId,
      cost: options.unlockCost ?? UNLOCK_COST,
      inTurn: (task) => this.#derivations.run(INSIDE, task),
      openStore: () => {
        if (this.#disk === undefined || this.#state === 'Locked') throw unavailable()
        return { ...this.#disk, session: this.#session ?? null }
      },
      restart: (domainKey) => this.#restart(domainKey),
    })
  }

  get state(): State {
    return this.#state
  }

  /** Another object after each change of state, and when the records were replaced by others. */
  get era(): object {
    return this.#era
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
        this.#disk = this.#openDisk()
        checkLastStart(this.#disk, this.#options.version ?? PRODUCT.version, this.#options.count)
        this.#attempt('clearing up', () => this.backups.removeLeftovers())
        this.#restoreClock(this.#disk)
        await this.#boot(this.#disk)
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
    this.#listeners.push(listener)
  }

  /** `listener` is called when an era has ended; the next one may still be on its way. */
  onEra(listener: () => void): void {
    this.#eraListeners.push(listener)
  }

  /** All or nothing: key slot, first administrator and time in one transaction. */
  provision({ unlockPassphrase, adminPassphrase, systemTimeMs }: Provisioning): Promise<void> {
    const requestedAtMs = this.clock.now()
    return this.#derivations.run(INSIDE, async () => {
      this.#expect('provision')
      const domainKey = newDomainKey(this.#random)
      try {
        const slots = await this.#sealSlot(domainKey, unlockPassphrase)
        const records = await this.#options.firstAdministrator(adminPassphrase, this.#services)
        const { store, device } = this.#expect('provision')
        const vault = this.#openVault(store, domainKey)
        const timeMs = systemTimeMs + this.clock.now() - requestedAtMs // the derivations took their time
        const provisioned = vault.change(() => ({
          changes: records,
          result: undefined,
          alongside: () => {
            putSlots(device, slots)
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
      if (this.#state === 'Locked' && this.#failure !== undefined) throw new CofferError('storage', this.#failure)
      const { domainKey, beside } = await this.#openSlot(this.#expect('unlock').device, passphrase)
      try {
        const disk = this.#expect('unlock')
        this.#attempt('keeping the domain key for backups', () => keepBeside(disk, beside))
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
    this.#attempt('writing the audit log', () => audit.flush())
    this.#endSession()
    this.#enter(TRANSITIONS.lock.to)
  }

  /** Throws `forbidden` when the current passphrase is wrong. */
  changeUnlockPassphrase(current: Uint8Array, next: Uint8Array): Promise<void> {
    return this.#derivations.run(INSIDE, async () => {
      const session = this.#expectSession()
      const { domainKey } = await this.#openSlot(session.device, current)
      try {
        const slots = await this.#sealSlot(domainKey, next)
        if (this.#expectSession() !== session) throw unavailable() // locked and unlocked meanwhile
        if (!equalBytes(domainKey, session.vault.domainKey)) {
          throw new CofferError('storage', 'The sealed domain key is not the one in use')
        }
        session.store.transaction(() => putSlots(session.device, slots))
        session.store.checkpoint() // nothing the former passphrase opens stays behind
      } finally {
        wipe(domainKey)
      }
    })
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
    this.#attempt('storing the time', () => disk.store.transaction(() => disk.device.putTimeOffsetMs(0)))
  }

  /** Gives the count that the store now holds, on disk; undefined when it could not be written. */
  keepStart(start: LastStart): number | null | undefined {
    return this.#attempt('keeping this start in the store', () => {
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

  #openDisk(): Disk {
    const { dataDirectory, deviceKey, nativeBinding } = this.#options
    if (deviceKey === null) {
      throw new CofferError('storage', 'The device key is missing: nothing can be opened without it')
    }
    const store = openStore({ dataDirectory, deviceKey, ...(nativeBinding === undefined ? {} : { nativeBinding }) })
    const audit = openAuditLog({
      store,
      deviceKey,
      random: this.#random,
      log: this.#log,
      time: () => formatTime(this.clock.now()),
    })
    return { store, device: openDeviceArea(store, deviceKey, this.#random, this.#noteDamage), audit }
  }

  #closeDisk(): void {
    const disk = this.#disk
    this.#disk = undefined
    if (disk === undefined) return
    disk.audit.close()
    disk.device.close()
    this.#attempt('closing the store', () => disk.store.close())
  }

  #restoreClock({ device }: Disk): void {
    this.#attempt('restoring the time', () => {
      const offsetMs = device.readTimeOffsetMs()
      if (offsetMs !== null) this.clock.set(this.clock.now() - this.clock.offsetMs + offsetMs)
    })
  }

  async #boot(disk: Disk): Promise<void> {
    const { store, device } = disk
    if (device.has(ATTENDED)) {
      this.#state = 'Locked'
      await this.#startUnattended(disk)
    } else if (device.has(UNATTENDED) || holdsRecords(store, this.#collections)) {
      throw new CofferError('storage', 'The store is damaged: its sealed domain key is missing')
    } else this.#state = 'Unprovisioned'
  }

  async #startUnattended(disk: Disk): Promise<void> {
    await this.#attemptSlowly('starting unattended', async () => {
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
      if (waiting(disk.device) !== null) this.#enter('Locked')
      await this.#attemptSlowly('opening what was restored', () => this.#admitAfterAdoption(disk, domainKey))
      return
    }
    this.#enter('Locked')
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
    this.#state = 'Locked'
    this.#failure = `The device key is withheld: ${reason}`
    this.#log.error('general', `locked: ${this.#failure}`)
  }

  #fail(error: unknown): void {
    this.#closeDisk()
    this.#state = 'Failed'
    this.#failure = error instanceof CofferError ? error.message : 'The store cannot be opened'
    this.#log.error('general', `failed: ${describe(error)}`)
  }

  /** Where one algorithm does not give its known answer, none is used any more. */
  #judge(wrong: readonly string[]): void {
    if (wrong.length === 0 || this.#state === 'Failed') return
    this.#failure = `Signatures come out wrong (${wrong.join('; ')}): this computer or this software is broken`
    this.#log.error('general', `failed: ${this.#failure}`)
    if (this.#session !== undefined) this.#endSession()
    this.#closeDisk()
    this.#options.pool.close().catch((error) => this.#noteFailure('ending the crypto threads', error))
    this.#enter('Failed')
  }

  async #restoreTlsIdentity(): Promise<TlsIdentity> {
    const stored = this.#attempt('reading the TLS identity', () => this.#disk?.device.readTlsIdentity() ?? null)
    if (stored) return stored
    const identity = await this.#options.makeTlsIdentity()
    const disk = this.#disk
    // One that cannot be read is kept as it is: this one serves until the next start.
    if (stored === null && disk !== undefined) {
      this.#attempt('storing the TLS identity', () =>
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
      if (this.#state === 'Locked') this.#tell()
      else this.#enter('Locked')
      throw error
    }
    this.#openFailure = undefined
    this.#enter(TRANSITIONS[trigger].to)
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
    this.#endEra()
    this.backups.sessionEnds()
    domain.close()
    vault.close()
    this.#options.pool.forgetAll()
  }

  #flush(slowly = false): void {
    const what = 'persisting counters'
    const stored = this.#attempt(what, () => this.#session?.domain.flush(slowly))
    stored?.catch((error) => this.#noteFailure(what, error))
  }

  #sealSlot(domainKey: Uint8Array, passphrase: Uint8Array): ReturnType<typeof sealForPassphrase> {
    const { pool, unlockCost = UNLOCK_COST } = this.#options
    return sealForPassphrase(domainKey, passphrase, { pool, random: this.#random, cost: unlockCost })
  }

  async #openSlot(device: DeviceArea, passphrase: Uint8Array): Promise<{ domainKey: Uint8Array; beside: Uint8Array }> {
    const slot = device.get(ATTENDED)
    if (slot === null) throw new CofferError('storage', 'The sealed domain key is missing')
    const opened = await openWithPassphrase(slot, passphrase, { pool: this.#options.pool, random: this.#random })
    if (opened === null) throw new CofferError('forbidden', 'Wrong passphrase')
    return opened
  }

  #offsetOf(timeMs: number): number {
    return this.clock.offsetMs + timeMs - this.clock.now()
  }

  #expect(trigger: Trigger): Disk {
    assertAdmitted()
    if (this.#state !== TRANSITIONS[trigger].from || this.#disk === undefined) throw unavailable()
    return this.#disk
  }

  #expectSession(): Session<D> {
    if (this.#session === undefined) throw unavailable()
    return this.#session
  }

  #enter(state: State): void {
    if (this.#state === state) return
    this.#state = state
    this.#endEra()
    this.#log.info('general', `state ${state}`)
    this.#tell()
  }

  #tell(): void {
    for (const listener of this.#listeners) listener(this.#state)
  }

  #endEra(): void {
    this.#era = {}
    for (const listener of this.#eraListeners) listener()
  }

  readonly #noteDamage = (message: string): void => this.#log.error('general', message)

  /** Does what must not stop a start or a stop; undefined and an entry in the log when it fails. */
  #attempt<T>(what: string, action: () => T): T | undefined {
    try {
      return action()
    } catch (error) {
      this.#noteFailure(what, error)
      return undefined
    }
  }

  async #attemptSlowly(what: string, action: () => Promise<void> | void): Promise<void> {
    try {
      await action()
    } catch (error) {
      this.#noteFailure(what, error)
    }
  }

  #noteFailure(what: string, error: unknown): void {
    this.#log.error('general', `${what}: ${describe(error)}`)
  }
}

function putSlots(device: DeviceArea, { slot, beside }: { slot: Uint8Array; beside: Uint8Array }): void {
  device.put(ATTENDED, slot)
  device.put(BESIDE_ATTENDED, beside)
}

/** The one that is there stays where it fits: backups of the same domain key are known by it. */
function keepBeside({ store, device }: Disk, beside: Uint8Array): void {
  const [slot, present] = [device.get(ATTENDED)!, device.get(BESIDE_ATTENDED)]
  if (present !== null && belongsBeside(slot, present)) return
  store.transaction(() => device.put(BESIDE_ATTENDED, beside))
}

const unavailable = (): CofferError => new CofferError('unavailable', 'Service not available')

/** Messages of unexpected errors may quote what was being worked on; those of the disk and our own do not. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (!(error instanceof CofferError)) return 'code' in error ? error.message : `unexpected ${error.name}`
  return error.cause === undefined ? error.message : `${error.message} (${describe(error.cause)})`
}
