/** The part of the store that the device opens by itself, in every state but Failed: the disk and the settings of the machine. */

import type { Clock } from '../base/clock.ts'
import { wrongState } from '../base/error.ts'
import type { LastStart } from '../channel/protocol.ts'
import type { DeviceRecords } from '../configuration/device-records.ts'
import type { TlsIdentity } from '../crypto/tls/identity.ts'
import type { DeviceArea } from '../store/device-area.ts'
import type { BestEffort } from './best-effort.ts'
import { type Disk, type DiskOptions, openDisk, restoreClock } from './disk.ts'
import { checkLastStart, keepLastStart } from './last-start.ts'

interface DeviceStoreOptions extends DiskOptions {
  tolerance: BestEffort
  /** Throws unless Administrators may change what they set of the device. */
  assertOperational: () => void
}

export class DeviceStore {
  readonly #options: DeviceStoreOptions
  readonly #tolerance: BestEffort
  readonly #clock: Clock
  #disk: Disk | undefined

  constructor(options: DeviceStoreOptions) {
    this.#options = options
    this.#tolerance = options.tolerance
    this.#clock = options.clock
  }

  get disk(): Disk | undefined {
    return this.#disk
  }

  /** Throws `unavailable` when Failed. */
  expect(): Disk {
    if (this.#disk === undefined) throw wrongState()
    return this.#disk
  }

  /** Throws `storage`, also where the store is that of another start or of a newer version. */
  open(version: string, count: number | undefined): Disk {
    const disk = openDisk(this.#options)
    this.#disk = disk
    checkLastStart(disk, version, count)
    return disk
  }

  close(): void {
    const disk = this.#disk
    this.#disk = undefined
    if (disk === undefined) return
    disk.audit.close()
    disk.device.close()
    this.#tolerance.attempt('close the store', () => disk.store.close())
  }

  readonly records: DeviceRecords = {
    read: <T>(what: string, read: (area: DeviceArea) => T): T | undefined =>
      this.#tolerance.attempt(what, () => (this.#disk === undefined ? undefined : read(this.#disk.device))),
    write: (change: (area: DeviceArea) => void): void => {
      this.#options.assertOperational()
      const { store, device } = this.expect()
      store.transaction(() => change(device))
      this.#tolerance.attempt('truncate the log of the store', () => store.checkpoint()) // a replaced key does not stay behind
    },
    keep: (what: string, change: (area: DeviceArea) => void): void => {
      const disk = this.#disk
      if (disk !== undefined) this.#tolerance.attempt(what, () => disk.store.transaction(() => change(disk.device)))
    },
  }

  /** The identity of the last start; one that is made now at the first, or where that cannot be read. */
  async tlsIdentity(make: () => TlsIdentity | Promise<TlsIdentity>): Promise<TlsIdentity> {
    const stored = this.#tolerance.attempt('read the TLS identity', () => this.#disk?.device.readTlsIdentity() ?? null)
    if (stored) return stored
    const identity = await make()
    // One that cannot be read is kept as it is: this one serves until the next start.
    if (stored === null) this.records.keep('store the TLS identity', (device) => device.putTlsIdentity(identity))
    return identity
  }

  restoreTime(): void {
    const disk = this.expect()
    this.#tolerance.attempt('restore the time', () => restoreClock(disk, this.#clock))
  }

  /** Within a transaction of the caller. */
  putTime(timeMs: number): void {
    this.expect().device.putTimeOffsetMs(this.#clock.offsetMs + timeMs - this.#clock.now())
  }

  setTime(timeMs: number): void {
    this.expect().store.transaction(() => this.putTime(timeMs))
    this.#clock.set(timeMs)
  }

  /** The machine's clock has the time of a server: no offset to it, also after the next start. */
  followMachineClock(): void {
    this.#clock.set(this.#clock.now() - this.#clock.offsetMs)
    if (this.#disk?.device.readTimeOffsetMs())
      this.records.keep('store the time', (device) => device.putTimeOffsetMs(0))
  }

  /** Gives the count that the store now holds, on disk; undefined when it could not be written. */
  keepStart(start: LastStart): number | null | undefined {
    return this.#tolerance.attempt('count this start', () => keepLastStart(this.expect(), start))
  }
}
