/** The vault and the domain over it, which are open from an unlock to the next lock. */

import { CofferError, wrongState } from '../base/error.ts'
import { runDetached } from '../base/request-authorization.ts'
import type { Etcd } from '../cluster/etcd/etcd.ts'
import type { Following, Node } from '../cluster/node/follow.ts'
import { deriveSealKey } from '../crypto/seal.ts'
import type { BestEffort } from '../device/best-effort.ts'
import type { Disk } from '../device/disk.ts'
import type { DomainServices, OpenServices } from '../device/domain-services.ts'
import type { DeviceArea } from '../store/device-area.ts'
import type { Vault } from '../store/vault.ts'
import type { OpenDomain } from './options.ts'

const FLUSH_INTERVAL_MS = 3_600_000 // operation counters are persisted at least hourly, contract section 6.2
const FLUSH_MS_MAX = 2000 // what a lock, or a stop, waits for the others of a cluster

export interface Session<D> extends Disk {
  vault: Vault
  domain: D
  /** Null while the appliance is alone. */
  node: Node | null
}

interface SessionsOptions<D> {
  openDomain: (records: Vault, services: OpenServices) => D
  services: DomainServices
  following: Following
  tolerance: BestEffort
  /** Called when one is over, before what it remembers is wiped. */
  onEnd: () => void
}

export class Sessions<D extends OpenDomain> {
  readonly #options: SessionsOptions<D>
  #current: Session<D> | undefined
  /** One that has yet to get what the others have. */
  #coming: Session<D> | undefined
  /** One whose counters the others have yet to get. */
  #ending: { promise: Promise<void>; close: () => void } | undefined
  #flushTimer: NodeJS.Timeout | undefined

  constructor(options: SessionsOptions<D>) {
    this.#options = options
  }

  get current(): Session<D> | undefined {
    return this.#current
  }

  /** There is one on its way, which waits for others. */
  get isComing(): boolean {
    return this.#coming !== undefined
  }

  /** Resolves when the previous session has closed. Await it before opening another one. */
  get ending(): Promise<void> | undefined {
    return this.#ending?.promise
  }

  /** Throws `unavailable` unless Operational. */
  expect(): Session<D> {
    if (this.#current === undefined) throw wrongState()
    return this.#current
  }

  /**
   * In the place of one that is on its way. At once for an appliance that is alone. Throws what opening the domain throws; the vault is
   * closed then.
   */
  begin(disk: Disk, vault: Vault): Promise<void> | void {
    this.#forgetComing() // two would follow with the same store
    const session = this.#open(disk, vault)
    if (session.node !== null) return this.#catchUp(session, session.node)
    this.#enter(session)
  }

  #open(disk: Disk, vault: Vault): Session<D> {
    const { openDomain, services, following } = this.#options
    let node: Node | null = null
    try {
      if (this.#current !== undefined) throw wrongState() // the one that was on its way has arrived just now
      node = following.open({ ...disk, vault }) // before anybody changes anything; others do in another turn
      return {
        ...disk,
        vault,
        domain: openDomain(vault, { ...services, deriveKey: (purpose) => deriveSealKey(vault.domainKey, purpose) }),
        node,
      }
    } catch (error) {
      node?.close()
      vault.close()
      throw error
    }
  }

  async #catchUp(session: Session<D>, node: Node): Promise<void> {
    this.#coming = session
    try {
      await node.replica.usable()
      if (this.#coming !== session) throw wrongState()
    } catch (error) {
      if (this.#coming === session) this.#forgetComing()
      throw error
    }
    this.#coming = undefined
    this.#enter(session)
  }

  #enter(session: Session<D>): void {
    this.#current = session
    void runDetached(() => session.vault.watch().then(() => session.node?.replica.repair()))
  }

  /** Finishes requests made before it. In a cluster that takes a while, during which nobody has the session any more. */
  end(): Promise<void> | void {
    this.#forgetComing()
    const session = this.#current
    if (session === undefined) return this.#ending?.promise
    const stored = this.#flush()
    session.vault.settleLast()
    if (session.node === null) return this.drop()
    this.#leave(session)
    this.#options.services.pool.forgetAll()
    return this.#endLater(session, stored)
  }

  #endLater(session: Session<D>, stored: Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const close = (): void => {
      if (this.#ending?.close !== close) return
      this.#ending = undefined
      this.#close(session)
      resolve()
    }
    this.#ending = { promise, close }
    void stored.then(close)
    setTimeout(close, FLUSH_MS_MAX)
    return promise
  }

  /** Stops waiting for the requests that `end` waits for. */
  abandon(): void {
    this.#ending?.close()
  }

  /** Without storing the counters: the records they belong to were replaced. */
  drop(): void {
    this.#forgetComing()
    const session = this.#current
    if (session === undefined) return
    this.#leave(session)
    this.#close(session)
    this.#options.services.pool.forgetAll()
  }

  /** See cluster/node/follow.ts. */
  async found(etcd: Etcd, withinTransaction: (device: DeviceArea) => void): Promise<void> {
    const session = this.expect()
    if (session.node !== null) throw new CofferError('conflict', 'This node is in a cluster already')
    const node = await this.#options.following.found(session, etcd, withinTransaction)
    if (this.#current === session) session.node = node
    else node.close()
  }

  startFlushing(): void {
    this.#flushTimer = runDetached(() => setInterval(() => this.#flush(true), FLUSH_INTERVAL_MS)).unref()
  }

  stopFlushing(): void {
    clearInterval(this.#flushTimer)
  }

  #forgetComing(): void {
    const session = this.#coming
    this.#coming = undefined
    if (session === undefined) return
    session.domain.close()
    this.#close(session)
  }

  #leave({ domain }: Session<D>): void {
    this.#current = undefined
    this.#options.onEnd()
    domain.close()
  }

  #close({ node, vault }: Session<D>): void {
    node?.close()
    vault.close()
  }

  /** Ends when they are stored, or could not be. A request that locks is over by then. */
  #flush(slowly = false): Promise<void> {
    const store = () => this.#current?.domain.flush(slowly)
    return runDetached(() => this.#options.tolerance.attemptSlowly('store counters', store))
  }
}
