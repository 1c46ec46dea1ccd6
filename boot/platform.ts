/** The seam between the boot manager and the machine it runs on: a developer's host, or the device image. */

import type { DeviceKey } from './device-key.ts'
import type { Network, Settings, ToBoot } from './protocol.ts'
import type { Slots } from './slots.ts'

/** What the firmware may ask the machine for. */
export type Action = Extract<ToBoot, { type: 'request' }>['action']

export interface Platform {
  /** What the firmware is started with. */
  readonly settings: Settings
  /** Put in front of the firmware's command line, e.g. to change its user; empty on the host. */
  readonly launcher: readonly string[]
  /** Upper bound of the firmware's JavaScript heap. */
  readonly heapMegabytes: number
  /** An open descriptor that every firmware inherits: while it is open, nobody else uses this data directory. */
  readonly lock: number
  /** The installed versions of the firmware. */
  readonly slots: Slots
  /** Read at each start of the firmware; the caller wipes it. */
  deviceKey(): DeviceKey
  /** Gives the machine this address, where it can; called at each start of the firmware and after each change. */
  applyNetwork(network: Network): void
  /** Performed while no firmware runs. Says whether to start it again or to end. */
  perform(action: Action): 'start' | 'end'
}
