/** What is open while Operational: the vault and the domain over it, from an unlock to the next lock. */

import { actAlone } from '../base/admission.ts'
import { unavailable } from '../base/error.ts'
import type { Vault } from '../store/vault.ts'
import type { Disk } from './disk.ts'
import type { DomainServices, OpenDomain } from './options.ts'
import type { Tolerance } from './tolerance.ts'

const FLUSH_INTERVAL_MS = 3_600_000 // operation counters are persisted at least hourly, contract section 6.2

export interface Session<D> extends Disk {
  vault: Vault
  domain: D
}

export interface SessionsOptions<D> {
  openDomain: (records: Vault, services: DomainServices) => D
  services: DomainServices
  tolerance: Tolerance
  /** Called when one is over, before what it remembers is wiped. */
  onEnd: () => void
}

export class Sessions<D extends OpenDomain> {
  readonly #options: SessionsOptions<D>
  #current: Session<D> | undefined
  #flushTimer: NodeJS.Timeout | undefined

  constructor(options: SessionsOptions<D>) {
    this.#options = options
  }

  get current(): Session<D> | undefined {
    return this.#current
  }

  /** Throws `unavailable` unless Operational. */
  expect(): Session<D> {
    if (this.#current === undefined) throw unavailable()
    return this.#current
  }

  /** Throws what opening the domain throws; the vault is closed then. */
  begin(disk: Disk, vault: Vault): void {
    try {
      const { openDomain, services } = this.#options
      this.#current = { ...disk, vault, domain: openDomain(vault, services) }
      void actAlone(() => vault.watch())
    } catch (error) {
      vault.close()
      throw error
    }
  }

  /** What was asked for before the end is done before it. */
  end(): void {
    if (this.#current === undefined) return
    this.#flush()
    this.#current.vault.settle()
    this.drop()
  }

  /** Without storing the counters: the records they belong to were replaced. */
  drop(): void {
    if (this.#current === undefined) return
    const { vault, domain } = this.#current
    this.#current = undefined
    this.#options.onEnd()
    domain.close()
    vault.close()
    this.#options.services.pool.forgetAll()
  }

  startFlushing(): void {
    this.#flushTimer = setInterval(() => this.#flush(true), FLUSH_INTERVAL_MS).unref()
  }

  stopFlushing(): void {
    clearInterval(this.#flushTimer)
  }

  #flush(slowly = false): void {
    const what = 'persisting counters'
    const { tolerance } = this.#options
    const stored = tolerance.attempt(what, () => this.#current?.domain.flush(slowly))
    stored?.catch((error) => tolerance.note(what, error))
  }
}
