/** The appliance's states, and the keys that come and go with them. Contract section 2. */

import type { AuditLog } from '../audit/audit-log.ts'
import type { AuditLineKind } from '../audit/chain.ts'
import { Backups } from '../backup/backups.ts'
import { type Clock, createClock, formatTime } from '../base/clock.ts'
import { createDiskSpace, type DiskSpace, readDiskUsage } from '../base/disk-space.ts'
import { CofferError, describe, wrongState } from '../base/error.ts'
import { ANYBODY, createFairQueue, INSIDE } from '../base/fair-queue.ts'
import type { Log } from '../base/log.ts'
import { createLoginLimiter, type LoginLimiter } from '../base/login-limiter.ts'
import { assertAuthorized, runDetached } from '../base/request-authorization.ts'
import type { ApplianceState } from '../base/states.ts'
import { PRODUCT } from '../channel/product.ts'
import type { LastStart } from '../channel/protocol.ts'
import type { Etcd } from '../cluster/etcd/etcd.ts'
import { createFollowing } from '../cluster/node/follow.ts'
import { type Clustering, createClustering, wasRemoved } from '../cluster/node/index.ts'
import { REMOVED } from '../cluster/node/node.ts'
import type { IntegrityError } from '../cluster/replica/integrity-error.ts'
import type { Replica } from '../cluster/replica/replica.ts'
import { Configuration } from '../configuration/configuration.ts'
import type { DeviceRecords } from '../configuration/device-records.ts'
import { systemRandom } from '../crypto/random.ts'
import { deriveSealKey } from '../crypto/seal.ts'
import type { TlsIdentity } from '../crypto/tls/identity.ts'
import { BestEffort } from '../device/best-effort.ts'
import { deviceIdOf } from '../device/device-id.ts'
import { DeviceStore } from '../device/device-store.ts'
import type { Disk } from '../device/disk.ts'
import { DomainKeySlot } from '../device/domain-key.ts'
import type { DomainServices } from '../device/domain-services.ts'
import { COLLECTION_NAMES } from '../kms/domain/collections.ts'
import type { Operational } from '../kms/domain/operational.ts'
import { ATTENDED, type DeviceArea, UNATTENDED } from '../store/device-area.ts'
import { UNLOCK_COST } from '../store/key-slots.ts'
import { storePath } from '../store/store.ts'
import { holdsRecords } from '../store/vault.ts'
import { Opening, type Provisioning } from './opening.ts'
import type { ApplianceOptions, OpenDomain } from './options.ts'
import { Sessions } from './sessions.ts'
import { States, TRANSITIONS } from './transitions.ts'
import { createUnlocking, type Unlock, type UnlockOrigin } from './unlocking.ts'

const DERIVATIONS_MAX = 16 // waiting for one another at half a second each

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
  /** Settings of the device itself, made by Administrators. */
  readonly configuration: Configuration
  readonly backups: Backups
  /** Who else has the records of this appliance, and how they become more and fewer. */
  readonly cluster: Clustering
  /** Stable per installation; contract section 4.8. */
  readonly deviceId: string
  /** Limits failed attempts, also to log in, since a client that was right before is known when it unlocks. */
  readonly limiter: LoginLimiter
  readonly space: DiskSpace
  readonly #options: ApplianceOptions<D>
  readonly #log: Log
  readonly #derivations = createFairQueue(DERIVATIONS_MAX)
  readonly #states: States
  readonly #tolerance: BestEffort
  readonly #store: DeviceStore
  readonly #sessions: Sessions<D>
  readonly #opening: Opening<D>
  readonly #unlockFrom: Unlock
  #unlocks = 0

  constructor(options: ApplianceOptions<D>) {
    const { pool, log, random = systemRandom, unlockCost: cost = UNLOCK_COST, dataDirectory, deviceKey } = options
    this.#options = options
    this.#log = log
    const readDisk = options.readDisk ?? (() => readDiskUsage(storePath(dataDirectory))) // a path that this process may read
    this.space = createDiskSpace(readDisk, () => this.audit?.growthBytes() ?? 0)
    this.clock = options.clock ?? createClock()
    this.limiter = options.limiter ?? createLoginLimiter()
    this.deviceId = deviceIdOf(deviceKey)
    this.#states = new States(log)
    const tolerance = new BestEffort(log)
    this.#tolerance = tolerance
    const nowMs = options.nowMs ?? (() => performance.now())
    const services: DomainServices = { pool, random, log, clock: this.clock, member: this.deviceId }
    this.#store = new DeviceStore({
      ...services,
      dataDirectory,
      deviceKey,
      nativeBinding: options.nativeBinding,
      nowMs,
      onDamage: this.#noteDamage,
      tolerance,
      assertOperational: () => this.#sessions.expect(),
    })
    const isolatedMsMax = options.cluster?.isolatedMaxMs ?? Number.POSITIVE_INFINITY
    this.#sessions = new Sessions({
      openDomain: options.openDomain,
      services,
      following: createFollowing({
        link: options.cluster,
        services,
        lostMs: () => this.cluster.node.lostMs,
        onContact: (lostMs) => {
          if (lostMs > isolatedMsMax)
            this.#states.suspend('The other nodes of the cluster have not answered for too long')
          else this.#states.resume()
        },
        onRefusal: (refusal) => this.#noteRefusal(refusal),
      }),
      tolerance,
      onEnd: () => {
        this.#states.endEpoch()
        this.backups.sessionEnds()
      },
    })
    this.configuration = new Configuration({ ...services, records: this.#store.records })
    this.backups = new Backups({
      ...services,
      dataDirectory,
      space: this.space,
      deviceId: this.deviceId,
      records: this.#store.records,
      cost,
      runQueued: (task) => this.#derivations.run(INSIDE, task),
      openStore: () => {
        const { disk } = this.#store
        if (disk === undefined || this.#states.current === 'Locked') throw wrongState()
        return { ...disk, session: this.#sessions.current ?? null }
      },
      restart: (domainKey) => this.#restart(domainKey),
      setTime: (timeMs) => this.setTime(timeMs),
    })
    const slot = new DomainKeySlot({ pool, random, cost })
    this.#opening = new Opening({
      services,
      states: this.#states,
      store: this.#store,
      sessions: this.#sessions,
      slot,
      tolerance,
      collections: options.collections ?? COLLECTION_NAMES,
      firstAdministrator: options.firstAdministrator,
      onDamage: this.#noteDamage,
      runQueued: (place, task) => this.#derivations.run(place, task),
    })
    this.cluster = createClustering({
      ...{ etcd: options.etcd, nowMs },
      freeBytes: () => this.space.usage().freeBytes,
      ...{ store: this.#store, configuration: this.configuration, random, pool, log, cost, slot },
      deviceId: this.deviceId,
      collections: options.collections ?? COLLECTION_NAMES,
      chat: () => this.backups.chat,
      state: () => this.#states.current,
      isRefused: () => this.replica?.state === 'refused',
      session: () => this.#sessions.expect(),
      runQueued: (place, task) => this.#derivations.run(place, task),
      openVault: (disk, domainKey) => this.#opening.openVault(disk, domainKey),
      found: (etcd, withinTransaction) => this.foundCluster(etcd, withinTransaction),
      endSession: () => this.#sessions.end(),
      startAgain: () => this.#startAgain(),
      leaveFailed: (reason) => this.leaveFailed(reason),
    })
    this.#unlockFrom = createUnlocking({
      limiter: this.limiter,
      clock: this.clock,
      audit: () => this.audit,
      open: (passphrase, place) => this.#opening.withPassphrase(passphrase, place),
    })
  }

  get state(): ApplianceState {
    return this.#states.current
  }

  /** Another object after each change of state, and when the records were replaced by others. */
  get epoch(): object {
    return this.#states.epoch
  }

  /** Why the appliance is Failed, or Locked with nothing that unlocks it; for the operator, names no path. */
  get failure(): string | undefined {
    return this.#states.failure
  }

  /** Why the records could not be opened, with the right key, when that was tried last; told like a change of state. */
  get openFailure(): string | undefined {
    return this.#states.openFailure
  }

  /** True while Operational if records were found that are damaged, or not those of the last change. */
  get hasDamage(): boolean {
    return this.#sessions.current?.vault.hasDamage ?? false
  }

  /** Called once, by `openAppliance`. */
  async start(): Promise<void> {
    const { withheld, version = PRODUCT.version, count, makeTlsIdentity, pool } = this.#options
    try {
      if (withheld) this.#stayLocked(withheld)
      else {
        const disk = this.#store.open(version, count)
        this.#tolerance.attempt('remove leftovers of backups', () => this.backups.removeLeftovers())
        this.#store.restoreTime()
        await this.#boot(disk)
      }
    } catch (error) {
      this.#fail(error)
    }
    this.configuration.load()
    this.configuration.tls.use(await this.#store.tlsIdentity(makeTlsIdentity))
    this.configuration.clusterTls.reload()
    this.configuration.syslogTls.reload()
    this.cluster.node.begin()
    this.#sessions.startFlushing()
    // A result that is known already is told at once, in the name of the request that unlocks.
    pool.onTested((wrong) => runDetached(() => this.#judge(wrong)))
  }

  /** The domain, or `unavailable` unless Operational. */
  open(): D {
    return this.#sessions.expect().domain
  }

  /** Records that the device opens by itself. */
  get deviceRecords(): DeviceRecords {
    return this.#store.records
  }

  /** The identity made at the first start, or set since; a temporary one where that cannot be read. */
  tlsIdentity(): TlsIdentity {
    return this.configuration.tls.identity
  }

  /** `listener` is called after each change of state. */
  onState(listener: (state: ApplianceState) => void): void {
    this.#states.onState(listener)
  }

  /** `listener` is called when an era has ended; the next one may still be on its way. */
  onEpochEnd(listener: () => void): void {
    this.#states.onEpochEnd(listener)
  }

  /** All or nothing: key slot, first administrator and time in one transaction. */
  provision(provisioning: Provisioning): Promise<void> {
    return this.#opening.provision(provisioning)
  }

  /**
   * The one way for HTTP and console (see unlocking.ts). Throws `forbidden` when the passphrase is wrong, `tooManyAttempts`.
   * Without `from`, a program that has the appliance to itself opens it: nobody else tries, and nothing is recorded.
   */
  async unlock(passphrase: Uint8Array, from?: UnlockOrigin): Promise<void> {
    this.#unlocks++
    try {
      await (from === undefined
        ? this.#opening.withPassphrase(passphrase, ANYBODY)
        : this.#unlockFrom(passphrase, from))
    } finally {
      this.#unlocks--
    }
  }

  get isUnlocking(): boolean {
    return this.#unlocks > 0
  }

  /** Locked when it returns. In a cluster keys are wiped when what it returns has ended: the others get the last counts first. */
  lock(): Promise<void> | void {
    assertAuthorized()
    this.#states.expect('lock')
    const { audit } = this.#store.expect()
    this.#tolerance.attempt('write the audit log', () => audit.flush())
    const ending = this.#sessions.end()
    this.#states.enter(TRANSITIONS.lock.to)
    return ending
  }

  /** Throws `forbidden` when the current passphrase is wrong. */
  changeUnlockPassphrase(current: Uint8Array, next: Uint8Array): Promise<void> {
    return this.#opening.changePassphrase(current, next)
  }

  /** A key for one purpose, made of the domain key; the caller wipes it. Throws `unavailable` unless Operational. */
  deriveKey(purpose: string): Uint8Array {
    return deriveSealKey(this.#sessions.expect().vault.domainKey, purpose)
  }

  /** Throws `full` while this may not be added to the records. */
  expectRoom(of: 'namespaces' | 'records'): void {
    this.space.expectRoom(of, 0, this.#store.disk?.store.reusableBytes)
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

  /**
   * Counters flushed, log checkpointed, keys wiped; at once for an appliance that is alone. It cannot be used afterwards; a second
   * call does nothing.
   */
  close(): Promise<void> | void {
    this.cluster.node.close()
    this.#sessions.stopFlushing()
    const ending = this.#sessions.end()
    if (ending !== undefined) return ending.then(() => this.#store.close())
    this.#store.close()
  }

  /** This appliance as a node of a cluster; null while it is alone, or its records are not open. */
  get replica(): Replica | null {
    return this.#sessions.current?.node?.replica ?? null
  }

  /**
   * Puts the records of an appliance that is alone into an etcd that holds none, and goes on as the first node of a cluster. Meanwhile
   * nothing can be changed. `withinTransaction` is called in the transaction that makes it a node. Throws what that fails with, and is alone then.
   */
  foundCluster(etcd: Etcd, withinTransaction: (device: DeviceArea) => void): Promise<void> {
    assertAuthorized()
    return this.#sessions.found(etcd, withinTransaction)
  }

  /** Closes what is open. Only a restart leads out of Failed: this node is no longer a member of its cluster. */
  leaveFailed(reason: string): void {
    this.#sessions.drop()
    this.#states.fail(reason)
    this.#log.error('general', `failed: ${reason}`)
    this.#record(410, { failed: reason }, 'change')
  }

  async #boot(disk: Disk): Promise<void> {
    const { store, device } = disk
    if (wasRemoved(device)) this.#states.begin('Failed', REMOVED)
    else if (device.has(ATTENDED)) {
      this.#states.begin('Locked')
      const opened = this.#opening.unattended(disk)
      if (!this.#sessions.isComing) await opened // it waits for others, who may need this start to end
    } else if (device.has(UNATTENDED) || holdsRecords(store, this.#options.collections ?? COLLECTION_NAMES)) {
      throw new CofferError('storage', 'The store is damaged: its sealed domain key is missing')
    } else this.#states.begin('Unprovisioned')
  }

  /** Goes on with records that were replaced: what is remembered of the former ones is dropped, counters included. */
  async #restart(domainKey: Uint8Array | null): Promise<void> {
    const { disk } = this.#store
    if (disk === undefined) throw wrongState() // Failed meanwhile
    const wasOpen = this.#sessions.current !== undefined
    this.#sessions.drop()
    if (domainKey !== null) return this.#opening.restored(disk, domainKey)
    this.#states.enter('Locked')
    if (wasOpen) return
    this.configuration.reload()
    await this.#opening.unattended(disk)
  }

  /** As after a start, with what the store holds now. */
  async #startAgain(): Promise<void> {
    const disk = this.#store.expect()
    this.#sessions.drop()
    if (wasRemoved(disk.device)) return this.leaveFailed(REMOVED)
    this.#states.enter('Locked')
    await this.#opening.unattended(disk)
  }

  /** The store is whole and is left alone: it opens again when the machine is started as it was. */
  #stayLocked(reason: string): void {
    const failure = `The device key is withheld: ${reason}`
    this.#states.begin('Locked', failure)
    this.#log.error('general', `locked: ${failure}`)
  }

  #fail(error: unknown): void {
    this.#store.close()
    this.#states.begin('Failed', error instanceof CofferError ? error.message : 'The store cannot be opened')
    this.#log.error('general', `failed: ${describe(error)}`)
  }

  /** Stops following the cluster. Keys are used as before, unless this software may misread them. */
  #noteRefusal({ message, isOutdated }: IntegrityError): void {
    this.#log.error('cluster', message)
    this.#record(500, { refused: message }, 'refusal')
    if (isOutdated) this.#states.suspend(message)
    else this.#states.resume()
  }

  /** Records an act of the cluster, for which no request was sent. */
  #record(result: number, facts: Record<string, string>, kind: AuditLineKind): void {
    const time = formatTime(this.clock.now())
    const event = { time, user: '', address: 'cluster', action: 'cluster', key: '', namespace: '', result, facts }
    this.audit?.record(event, kind)?.catch((error) => this.#tolerance.note('record a cluster event', error))
  }

  /** Where one algorithm does not give its known answer, none is used any more. */
  #judge(wrong: readonly string[]): void {
    if (wrong.length === 0 || (this.#states.current === 'Failed' && !this.#states.isSuspended)) return
    const failure = `Signatures come out wrong (${wrong.join('; ')}): this computer or this software is broken`
    this.#log.error('general', `failed: ${failure}`)
    void this.#sessions.end()
    this.#sessions.abandon()
    this.#store.close()
    this.#options.pool.close().catch((error) => this.#tolerance.note('end the crypto threads', error))
    this.#states.fail(failure)
  }

  readonly #noteDamage = (message: string): void => this.#log.error('general', message)
}
