/** The appliance's states, and the keys that come and go with them. Contract section 2. */

import type { AuditLog } from '../audit/audit-log.ts'
import { Backups } from '../backup/backups.ts'
import { importRecords } from '../backup/nethsm/import-records.ts'
import { waiting } from '../backup/nethsm/waiting.ts'
import { actAlone, assertAdmitted } from '../base/admission.ts'
import { type AttemptLimiter, createAttemptLimiter } from '../base/attempts.ts'
import { type Clock, createClock } from '../base/clock.ts'
import { CofferError, unavailable } from '../base/error.ts'
import { ANYBODY, createFairQueue, INSIDE, type Place } from '../base/fair-queue.ts'
import type { Log } from '../base/log.ts'
import { wipe } from '../base/secret.ts'
import type { State } from '../base/states.ts'
import { PRODUCT } from '../channel/product.ts'
import type { LastStart } from '../channel/protocol.ts'
import { Configuration } from '../configuration/configuration.ts'
import type { DeviceRecords } from '../configuration/device-records.ts'
import { systemRandom } from '../crypto/random.ts'
import { deriveSealKey, equalBytes } from '../crypto/seal.ts'
import type { TlsIdentity } from '../crypto/tls/identity.ts'
import { COLLECTION_NAMES } from '../kms/domain/collections.ts'
import type { Operational } from '../kms/domain/operational.ts'
import { ATTENDED, UNATTENDED } from '../store/device-area.ts'
import { newDomainKey, UNLOCK_COST } from '../store/key-slots.ts'
import type { StoreFile } from '../store/store.ts'
import { holdsRecords, openVault, type Vault } from '../store/vault.ts'
import { deviceIdOf } from './device-id.ts'
import { DeviceStore } from './device-store.ts'
import type { Disk } from './disk.ts'
import { DomainKeySlot } from './domain-key.ts'
import type { ApplianceOptions, DomainServices, OpenDomain } from './options.ts'
import { Sessions } from './sessions.ts'
import { describe, Tolerance } from './tolerance.ts'
import { States, TRANSITIONS, type Trigger } from './transitions.ts'
import { createUnlocking, type Unlock, type UnlockOrigin } from './unlocking.ts'

const DERIVATIONS_MAX = 16 // waiting for one another at half a second each

export interface Provisioning {
  unlockPassphrase: Uint8Array
  adminPassphrase: Uint8Array
  systemTimeMs: number
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
  /** On failed attempts: of those who log in, too, since whoever was right before is known when he unlocks. */
  readonly limiter: AttemptLimiter
  readonly #options: ApplianceOptions<D>
  readonly #services: DomainServices
  readonly #log: Log
  readonly #collections: readonly string[]
  readonly #derivations = createFairQueue(DERIVATIONS_MAX)
  readonly #states: States
  readonly #tolerance: Tolerance
  readonly #slot: DomainKeySlot
  readonly #store: DeviceStore
  readonly #sessions: Sessions<D>
  readonly #unlockFrom: Unlock
  #failure: string | undefined
  #openFailure: string | undefined

  constructor(options: ApplianceOptions<D>) {
    const { pool, log, random = systemRandom, unlockCost: cost = UNLOCK_COST, dataDirectory, deviceKey } = options
    this.#options = options
    this.#log = log
    this.#collections = options.collections ?? COLLECTION_NAMES
    this.clock = options.clock ?? createClock()
    this.limiter = options.limiter ?? createAttemptLimiter()
    this.deviceId = deviceIdOf(deviceKey)
    this.#states = new States(log)
    const tolerance = new Tolerance(log)
    this.#tolerance = tolerance
    this.#slot = new DomainKeySlot({ pool, random, cost })
    const services: DomainServices = { pool, random, log, clock: this.clock, member: this.deviceId }
    this.#services = services
    this.#store = new DeviceStore({
      ...services,
      dataDirectory,
      deviceKey,
      nativeBinding: options.nativeBinding,
      onDamage: this.#noteDamage,
      tolerance,
      assertOperational: () => this.#sessions.expect(),
    })
    this.#sessions = new Sessions({
      openDomain: options.openDomain,
      services,
      tolerance,
      onEnd: () => {
        this.#states.endEra()
        this.backups.sessionEnds()
      },
    })
    this.configuration = new Configuration({ ...services, records: this.#store.records })
    this.backups = new Backups({
      ...services,
      dataDirectory,
      deviceId: this.deviceId,
      records: this.#store.records,
      cost,
      inTurn: (task) => this.#derivations.run(INSIDE, task),
      openStore: () => {
        const { disk } = this.#store
        if (disk === undefined || this.#states.current === 'Locked') throw unavailable()
        return { ...disk, session: this.#sessions.current ?? null }
      },
      restart: (domainKey) => this.#restart(domainKey),
    })
    this.#unlockFrom = createUnlocking({
      limiter: this.limiter,
      clock: this.clock,
      audit: () => this.audit,
      open: (passphrase, place) => this.#openWith(passphrase, place),
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
    const { withheld, version = PRODUCT.version, count, makeTlsIdentity, pool } = this.#options
    try {
      if (withheld) this.#stayLocked(withheld)
      else {
        const disk = this.#store.open(version, count)
        this.#tolerance.attempt('clearing up', () => this.backups.removeLeftovers())
        this.#store.restoreTime()
        await this.#boot(disk)
      }
    } catch (error) {
      this.#fail(error)
    }
    this.configuration.load()
    this.configuration.tls.use(await this.#store.tlsIdentity(makeTlsIdentity))
    this.#sessions.startFlushing()
    // A thread tells it in the name of the request that it was started for, which may be over.
    pool.onTested((wrong) => actAlone(() => this.#judge(wrong)))
  }

  /** The domain, or `unavailable` unless Operational. */
  open(): D {
    return this.#sessions.expect().domain
  }

  /** What the device itself can open. */
  get deviceRecords(): DeviceRecords {
    return this.#store.records
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
      const domainKey = newDomainKey(this.#services.random)
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
            this.#store.putTime(timeMs)
          },
        }))
        vault.settle()
        await provisioned
        this.clock.set(timeMs)
        this.#admit('provision', vault)
      } finally {
        if (this.#sessions.current === undefined) wipe(domainKey)
      }
    })
  }

  /**
   * The one way for HTTP and console (see unlocking.ts). Throws `forbidden` when the passphrase is wrong, `tooManyAttempts`.
   * Without `from`, a program that has the appliance to itself opens it: nobody else tries, and nothing is recorded.
   */
  unlock(passphrase: Uint8Array, from?: UnlockOrigin): Promise<void> {
    return from === undefined ? this.#openWith(passphrase, ANYBODY) : this.#unlockFrom(passphrase, from)
  }

  #openWith(passphrase: Uint8Array, place: Place): Promise<void> {
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
        if (this.#sessions.current === undefined) wipe(domainKey)
      }
    })
  }

  lock(): void {
    const { audit } = this.#expect('lock')
    this.#tolerance.attempt('writing the audit log', () => audit.flush())
    this.#sessions.end()
    this.#states.enter(TRANSITIONS.lock.to)
  }

  /** Throws `forbidden` when the current passphrase is wrong. */
  changeUnlockPassphrase(current: Uint8Array, next: Uint8Array): Promise<void> {
    return this.#derivations.run(INSIDE, async () => {
      const session = this.#sessions.expect()
      const { domainKey } = await this.#slot.open(session.device, current)
      try {
        const slots = await this.#slot.seal(domainKey, next)
        if (this.#sessions.expect() !== session) throw unavailable() // locked and unlocked meanwhile
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
    return deriveSealKey(this.#sessions.expect().vault.domainKey, purpose)
  }

  /** Open in every state but Failed. */
  get audit(): AuditLog | undefined {
    return this.#store.disk?.audit
  }

  /** Write transactions since the start, for the metrics. */
  get writes(): number {
    return this.#store.disk?.store.writes ?? 0
  }

  get unattendedBoot(): boolean {
    return this.#sessions.expect().device.has(UNATTENDED)
  }

  setUnattendedBoot(on: boolean): void {
    const { vault, store, device } = this.#sessions.expect()
    store.transaction(() => (on ? device.put(UNATTENDED, vault.domainKey) : device.remove(UNATTENDED)))
    if (!on) store.checkpoint() // nothing the device key alone opens stays behind
  }

  setTime(timeMs: number): void {
    this.#sessions.expect()
    this.#store.setTime(timeMs)
  }

  /** The machine's clock has the time of a server: no offset to it, also after the next start. */
  followMachineClock(): void {
    this.#store.followMachineClock()
  }

  /** Gives the count that the store now holds, on disk; undefined when it could not be written. */
  keepStart(start: LastStart): number | null | undefined {
    return this.#store.keepStart(start)
  }

  /** Counters flushed, log checkpointed, keys wiped. The appliance cannot be used afterwards; a second call does nothing. */
  close(): void {
    this.#sessions.stopFlushing()
    this.#sessions.end()
    this.#store.close()
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
      if (domainKey !== null) await this.#admitAfterImport(disk, domainKey)
    })
  }

  /** Goes on with records that were replaced: what is remembered of the former ones is dropped, counters included. */
  async #restart(domainKey: Uint8Array | null): Promise<void> {
    const { disk } = this.#store
    if (disk === undefined) throw unavailable() // Failed meanwhile
    const wasOpen = this.#sessions.current !== undefined
    this.#sessions.drop()
    if (domainKey !== null) {
      if (waiting(disk.device) !== null) this.#states.enter('Locked')
      await this.#tolerance.attemptSlowly('opening what was restored', () => this.#admitAfterImport(disk, domainKey))
      return
    }
    this.#states.enter('Locked')
    if (wasOpen) return
    this.configuration.reload()
    await this.#startUnattended(disk)
  }

  /** Without waiting where nothing is to be imported. Takes over the domain key. */
  #admitAfterImport(disk: Disk, domainKey: Uint8Array): Promise<void> | void {
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
    this.#store.close()
    this.#states.begin('Failed')
    this.#failure = error instanceof CofferError ? error.message : 'The store cannot be opened'
    this.#log.error('general', `failed: ${describe(error)}`)
  }

  /** Where one algorithm does not give its known answer, none is used any more. */
  #judge(wrong: readonly string[]): void {
    if (wrong.length === 0 || this.#states.current === 'Failed') return
    this.#failure = `Signatures come out wrong (${wrong.join('; ')}): this computer or this software is broken`
    this.#log.error('general', `failed: ${this.#failure}`)
    this.#sessions.end()
    this.#store.close()
    this.#options.pool.close().catch((error) => this.#tolerance.note('ending the crypto threads', error))
    this.#states.enter('Failed')
  }

  #openVault(store: StoreFile, domainKey: Uint8Array): Vault {
    return openVault(store, domainKey, this.#services.random, this.#noteDamage, this.#collections)
  }

  /** Opens the domain; without it the appliance is Locked. */
  #admit(trigger: Trigger, vault: Vault): void {
    try {
      this.#sessions.begin(this.#store.disk!, vault)
    } catch (error) {
      this.#openFailure = describe(error)
      if (this.#states.current === 'Locked') this.#states.notify()
      else this.#states.enter('Locked')
      throw error
    }
    this.#openFailure = undefined
    this.#states.enter(TRANSITIONS[trigger].to)
  }

  #expect(trigger: Trigger): Disk {
    assertAdmitted()
    const { disk } = this.#store
    if (this.#states.current !== TRANSITIONS[trigger].from || disk === undefined) throw unavailable()
    return disk
  }

  readonly #noteDamage = (message: string): void => this.#log.error('general', message)
}
