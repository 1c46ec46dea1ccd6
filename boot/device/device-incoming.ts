/**
 * An incoming version on a device: checks whether it is admitted, where its members are written, and whether it can start on this
 * machine.
 */

import { readdirSync, statSync } from 'node:fs'
import { readDiskUsage } from '../../firmware/base/disk-space.ts'
import type { Manifest } from '../../firmware/release/manifest.ts'
import { createIncoming, type Incoming } from '../versions/incoming.ts'
import { SlotConflict, SlotError } from '../versions/slot-error.ts'
import type { SlotsOptions } from '../versions/slots.ts'
import { type BootEntry, isLastResort } from './esp/boot-count.ts'
import type { Esp } from './esp/esp.ts'
import { inspectKernelImage, type MachineArchitecture } from './esp/kernel-image.ts'
import type { SecureBootState } from './esp/secure-boot.ts'
import type { MinimumVersion } from './minimum-version.ts'
import type { OurDisk } from './system/disk.ts'

interface DeviceIncomingOptions extends Pick<SlotsOptions, 'own' | 'releaseKey'> {
  esp: Esp
  spareRoot: OurDisk['spareRoot']
  architecture: MachineArchitecture
  secureBoot: SecureBootState | null
  minimum: Pick<MinimumVersion, 'admit'>
  isOnTrial: () => boolean
}

const ESP_RESERVE_BYTES = 1024 * 1024 // for directories and writes of the boot loader

export const kernelMemberOf = (architecture: MachineArchitecture): string => `coffer-${architecture}.efi`

/**
 * Its methods throw `SlotConflict` or `SlotError` if a version is not admitted. An admitted version overwrites the spare root
 * file system.
 */
export function createDeviceIncoming(options: DeviceIncomingOptions): Incoming {
  const { esp, spareRoot, architecture, secureBoot, minimum, own, isOnTrial } = options
  const [kernelMember, rootMember] = [kernelMemberOf(architecture), `coffer-${architecture}.root`]

  function admit({ version, members }: Manifest): void {
    if (isOnTrial()) throw new SlotConflict('The running version is still on trial')
    if (version === own.version) throw new SlotConflict(`Version ${version} is already running`)
    const others = othersThan(own.version, esp)
    const waiting = others.find(isTried)
    if (waiting !== undefined) throw new SlotConflict(`Version ${waiting.version} is waiting for a restart to be tried`)
    minimum.admit(version)
    const [kernel, root] = [kernelMember, rootMember].map((wanted) => members.find(({ name }) => name === wanted))
    if (members.length !== 2 || kernel === undefined || root === undefined)
      throw new SlotError(`The image must contain ${kernelMember} and ${rootMember}, and nothing else`)
    if (esp.bytesWithout(others) < kernel.size + ESP_RESERVE_BYTES)
      throw new SlotError('The ESP has no room for its kernel')
    if (spareRoot.bytes < root.size) throw new SlotError('The partition has no room for its root file system')
    // From now on their root file system is overwritten.
    esp.change(({ remove }) => others.forEach(remove))
    esp.open()
  }

  return createIncoming({
    directory: esp.incoming,
    releaseKey: options.releaseKey,
    admit,
    deviceFor: (name) => (name === rootMember ? spareRoot.path : null),
    settle: esp.forget,
    inspect: ({ version }) => {
      const expected = { architecture, version, root: spareRoot.path, secureBoot }
      inspectKernelImage(`${esp.incoming}/${kernelMember}`, expected)
    },
  })
}

export const othersThan = (own: string, esp: Esp): BootEntry[] => esp.entries().filter(({ version }) => version !== own)

export const isTried = (entry: BootEntry): boolean => entry.counter !== null && !isLastResort(entry)

/** Throws a SlotError unless the disk has room for a copy of the store, with which a trial begins. */
export function refuseWithoutRoom(dataDirectory: string, storeDirectory: string): void {
  const { freeBytes } = readDiskUsage(dataDirectory)
  const storeBytes = readdirSync(storeDirectory).reduce(
    (sum, name) => sum + statSync(`${storeDirectory}/${name}`).size,
    0,
  )
  if (freeBytes < storeBytes) throw new SlotError('The disk has no room for a copy of the store')
}
