/**
 * The ways in which the records come open: provisioning makes them, a passphrase opens them, a start does it unattended, and
 * what was restored opens with the key that is at hand. Each ends with the domain admitted, or with the key wiped.
 */

import { importRecords } from '../backup/nethsm/import-records.ts'
import { waiting } from '../backup/nethsm/pending-import.ts'
import { defined } from '../base/defined.ts'
import { CofferError, describe, wrongState } from '../base/error.ts'
import { INSIDE, type QueuePriority } from '../base/fair-queue.ts'
import { assertAuthorized } from '../base/request-authorization.ts'
import { wipe } from '../base/secret.ts'
import { equalBytes } from '../crypto/seal.ts'
import type { BestEffort } from '../device/best-effort.ts'
import type { DeviceStore } from '../device/device-store.ts'
import type { Disk } from '../device/disk.ts'
import type { DomainKeySlot } from '../device/domain-key.ts'
import type { DomainServices } from '../device/domain-services.ts'
import { UNATTENDED } from '../store/device-area.ts'
import { newDomainKey } from '../store/key-slots.ts'
import { openVault, type Vault } from '../store/vault.ts'
import type { ApplianceOptions, OpenDomain } from './options.ts'
import type { Sessions } from './sessions.ts'
import { type States, TRANSITIONS, type Trigger } from './transitions.ts'

export interface Provisioning {
  unlockPassphrase: Uint8Array
  adminPassphrase: Uint8Array
  systemTimeMs: number
}

interface OpeningOptions<D extends OpenDomain> {
  services: DomainServices
  states: States
  store: DeviceStore
  sessions: Sessions<D>
  slot: DomainKeySlot
  tolerance: BestEffort
  collections: readonly string[]
  firstAdministrator: ApplianceOptions<D>['firstAdministrator']
  onDamage: (message: string) => void
  /** Derivations of keys wait for one another. */
  runQueued: <T>(place: QueuePriority, task: () => Promise<T>) => Promise<T>
}

export class Opening<D extends OpenDomain> {
  readonly #options: OpeningOptions<D>

  constructor(options: OpeningOptions<D>) {
    this.#options = options
  }

  /** All or nothing: key slot, first administrator and time in one transaction. */
  provision({ unlockPassphrase, adminPassphrase, systemTimeMs }: Provisioning): Promise<void> {
    const { services, slot, store, sessions, firstAdministrator, runQueued } = this.#options
    const { clock } = services
    const requestedAtMs = performance.now() // no clock that is set meanwhile
    return runQueued(INSIDE, async () => {
      this.#expect('provision')
      const domainKey = newDomainKey(services.random)
      try {
        const slots = await slot.seal(domainKey, unlockPassphrase)
        const records = await firstAdministrator(adminPassphrase, services)
        const disk = this.#expect('provision')
        const vault = this.openVault(disk, domainKey)
        const timeMs = systemTimeMs + performance.now() - requestedAtMs // the derivations took their time
        const provisioned = vault.change(() => ({
          changes: records,
          result: undefined,
          withinTransaction: () => {
            slot.put(disk.device, slots)
            store.putTime(timeMs)
          },
        }))
        vault.settle()
        await provisioned
        clock.set(timeMs)
        this.#admit('provision', vault)
      } finally {
        if (sessions.current === undefined) wipe(domainKey)
      }
    })
  }

  /** Throws `forbidden` when the passphrase is wrong. */
  withPassphrase(passphrase: Uint8Array, place: QueuePriority): Promise<void> {
    const { states, slot, sessions, tolerance, runQueued } = this.#options
    return runQueued(place, async () => {
      if (states.current === 'Locked' && states.failure !== undefined) throw new CofferError('storage', states.failure)
      const { domainKey, beside } = await slot.open(this.#expect('unlock').device, passphrase)
      try {
        if (sessions.ending !== undefined) await sessions.ending
        const disk = this.#expect('unlock')
        tolerance.attempt('store the domain key for backups', () => slot.keepBeside(disk, beside))
        const vault = this.openVault(disk, domainKey)
        await this.#importRecords(disk, vault)
        await this.#admit('unlock', vault)
      } finally {
        if (sessions.current === undefined) wipe(domainKey)
      }
    })
  }

  /** Where that is on; otherwise, or when it fails, the appliance stays Locked. */
  async unattended(disk: Disk): Promise<void> {
    await this.#options.tolerance.attemptSlowly('start unattended', async () => {
      const domainKey = disk.device.get(UNATTENDED)
      if (domainKey !== null) await this.#withKey(disk, domainKey)
    })
  }

  /** Takes over the domain key that opens what was restored. */
  async restored(disk: Disk, domainKey: Uint8Array): Promise<void> {
    const { states, tolerance } = this.#options
    if (waiting(disk.device) !== null) states.enter('Locked')
    await tolerance.attemptSlowly('open the restored store', () => this.#withKey(disk, domainKey))
  }

  /** Throws `forbidden` when the current passphrase is wrong. */
  changePassphrase(current: Uint8Array, next: Uint8Array): Promise<void> {
    const { sessions, slot, runQueued } = this.#options
    return runQueued(INSIDE, async () => {
      const session = sessions.expect()
      const { domainKey } = await slot.open(session.device, current)
      try {
        const slots = await slot.seal(domainKey, next)
        if (sessions.expect() !== session) throw wrongState() // locked and unlocked meanwhile
        if (!equalBytes(domainKey, session.vault.domainKey)) {
          throw new CofferError('storage', 'The sealed domain key is not the one in use')
        }
        session.store.transaction(() => slot.put(session.device, slots))
        session.store.checkpoint() // nothing the former passphrase opens stays behind
      } finally {
        wipe(domainKey)
      }
    })
  }

  /** Without waiting where nothing is to be imported. Takes over the domain key. */
  #withKey(disk: Disk, domainKey: Uint8Array): Promise<void> | void {
    const vault = this.openVault(disk, domainKey)
    if (waiting(disk.device) === null) return this.#admit('unlock', vault)
    return this.#importRecords(disk, vault).then(() => this.#admit('unlock', vault))
  }

  /** Makes records of the entries that a restored backup of a NetHSM brought. Closes the vault if that fails. */
  async #importRecords({ store, device }: Disk, vault: Vault): Promise<void> {
    const { services, onDamage } = this.#options
    try {
      await importRecords({ store, device, records: vault, pool: services.pool, onDamage })
      this.#expect('unlock') // the store may have been closed meanwhile
    } catch (error) {
      vault.close()
      throw error
    }
  }

  /** Takes over the domain key. */
  openVault({ store }: Disk, domainKey: Uint8Array): Vault {
    const { services, onDamage, collections } = this.#options
    return openVault(store, domainKey, services.random, onDamage, collections)
  }

  /** Opens the domain; without it the appliance is Locked. At once for one that is alone. */
  #admit(trigger: Trigger, vault: Vault): Promise<void> | void {
    const { sessions, store, states } = this.#options
    try {
      const begun = sessions.begin(defined(store.disk), vault)
      if (begun !== undefined) return begun.then(() => this.#enter(trigger), this.#noteFailure)
    } catch (error) {
      this.#noteFailure(error)
    }
    states.enter(TRANSITIONS[trigger].to)
  }

  /** It took a while, in which much may have happened. */
  #enter(trigger: Trigger): void {
    const { sessions, states } = this.#options
    try {
      this.#expect(trigger)
    } catch (error) {
      sessions.drop()
      throw error
    }
    states.enter(TRANSITIONS[trigger].to)
  }

  readonly #noteFailure = (error: unknown): never => {
    const isPassing = error instanceof CofferError && (error.code === 'busy' || error.code === 'unavailable')
    if (!isPassing) this.#options.states.stayLocked(describe(error))
    throw error
  }

  /** Throws `unavailable` where the request that asks is admitted no longer, or the state is not that of the trigger. */
  #expect(trigger: Trigger): Disk {
    assertAuthorized()
    this.#options.states.expect(trigger)
    return this.#options.store.expect()
  }
}
