/**
 * The versions on a device: unified kernel images on the ESP, and their root file systems in two partitions. The boot loader
 * starts the newest version that is good or has tries left.
 * The ESP counts tries, each of which is a start of the machine. The record on the data partition holds the reason of a failed
 * try, and the running version that is good; any other version with a counter is on trial. At most two versions exist: the
 * running one, and one on trial or the previous one. The previous one is removed when an upload is admitted, which overwrites its
 * root file system.
 */

import { defined } from '../../firmware/base/defined.ts'
import { isNewer } from '../../firmware/release/version.ts'
import type { Incoming } from '../versions/incoming.ts'
import { explain, SlotConflict, SlotError } from '../versions/slot-error.ts'
import type { Running, Slots, SlotsOptions } from '../versions/slots.ts'
import { createStoreCopy } from '../versions/store-copy.ts'
import { createDeviceIncoming, kernelMemberOf, othersThan, refuseWithoutRoom } from './device-incoming.ts'
import { entryOfVersion, noteFailure, openSlotsRecord, startCounted, startUncounted } from './device-start.ts'
import { ALL_TRIES, type BootEntry, type BootLoader, entryName, LAST_RESORT, startedOnTrial } from './esp/boot-count.ts'
import type { Esp } from './esp/esp.ts'
import type { MachineArchitecture } from './esp/kernel-image.ts'
import type { SecureBootState } from './esp/secure-boot.ts'
import type { MinimumVersion } from './minimum-version.ts'
import type { OurDisk } from './system/disk.ts'

interface DeviceSlotsOptions extends Pick<SlotsOptions, 'storeDirectory' | 'own' | 'releaseKey'> {
  dataDirectory: string
  /** Null if the machine was not booted from its ESP. Then no tries are counted and no updates are accepted. */
  boot: { esp: Esp; loader: BootLoader; spareRoot: OurDisk['spareRoot'] } | null
  architecture: MachineArchitecture
  secureBoot: SecureBootState | null
  minimum: Pick<MinimumVersion, 'admit' | 'raise' | 'rulesOut'>
}

interface CountedBoot {
  esp: Esp
  loader: BootLoader
  incoming: Incoming
}

export interface DeviceSlots extends Slots {
  /** The last version that was good, which a factory reset preserves; null if there is none. */
  goodVersion(): string | null
}

export function openDeviceSlots(options: DeviceSlotsOptions): DeviceSlots {
  const { dataDirectory, storeDirectory, own, minimum, architecture } = options
  const record = openSlotsRecord(dataDirectory)
  const storeCopy = createStoreCopy(storeDirectory)
  const machine = options.boot === null ? null : openMachine(options.boot)
  let running: Running | null = null

  function openMachine(boot: NonNullable<DeviceSlotsOptions['boot']>): CountedBoot {
    const incoming = createDeviceIncoming({ ...options, ...boot, isOnTrial: () => defined(running).trial })
    return { ...boot, incoming }
  }

  const entryOf = (esp: Esp): BootEntry | undefined => entryOfVersion(own.version, esp)

  /** Best effort: if the disk is full, the next start raises the minimum. */
  function raiseMinimum(): void {
    try {
      minimum.raise()
    } catch (error) {
      explain(error) // rethrows errors other than those of the file system
    }
  }

  /** Resets the tries of this version, if another one exists. */
  function recountOwn({ esp }: CountedBoot, entry: BootEntry): void {
    const counter = othersThan(own.version, esp).length > 0 ? ALL_TRIES : null
    if (entryName(own.version, counter) !== entry.file) esp.change(({ recount }) => recount(entry, counter))
  }

  /**
   * Removes versions that the minimum excludes. The boot loader would start one after several failed starts of this version, but
   * it would get no device key.
   */
  function removeRuledOut(machine: CountedBoot): void {
    const { esp } = machine
    const others = othersThan(own.version, esp).filter(({ version }) => minimum.rulesOut(version))
    if (others.length === 0) return
    esp.change(({ remove }) => others.forEach(remove))
    endStart(machine)
  }

  function endTrial(machine: CountedBoot): void {
    const entry = entryOf(machine.esp)
    if (entry === undefined || !startedOnTrial(machine.loader, own.version))
      throw new SlotError('the boot loader did not start it as the version on trial')
    recountOwn(machine, entry)
    record.save({ active: own.version, trial: null, fallback: null })
    removeRuledOut(machine)
    storeCopy.remove()
    raiseMinimum() // last, since the previous version can run until then
  }

  function endStart(machine: CountedBoot): void {
    const entry = entryOf(machine.esp)
    if (entry !== undefined) recountOwn(machine, entry)
  }

  function dropUncommitted({ esp, incoming }: CountedBoot): void {
    esp.open()
    try {
      incoming.drop()
    } finally {
      esp.rest()
    }
  }

  function activate({ esp, incoming }: CountedBoot): void {
    const { version } = incoming.ready()
    refuseWithoutRoom(dataDirectory, storeDirectory)
    const entry = entryOf(esp)
    esp.change(({ recount, install }) => {
      // The boot loader prefers the newest version. To start an older one, this one must rank last.
      if (entry !== undefined && isNewer(own.version, version)) recount(entry, LAST_RESORT)
      else if (entry !== undefined && entry.counter !== null) recount(entry, null)
      install(kernelMemberOf(architecture), version, ALL_TRIES)
    })
    incoming.taken()
  }

  return {
    choose: () => {
      if (machine?.esp.hasIncoming()) dropUncommitted(machine)
      running ??=
        machine === null
          ? startUncounted(own, record)
          : startCounted({ own, esp: machine.esp, record, storeCopy, raiseMinimum, rulesOut: minimum.rulesOut })
      return running
    },
    markGood: () => {
      if (machine === null || running === null) return
      if (running.trial) endTrial(machine)
      else if (running.counted) endStart(machine)
      running = { ...running, trial: false, counted: false }
    },
    goodVersion: () => record.value.active,
    noteFailure: (problem) => noteFailure(record, own.version, problem),
    take: (step) => {
      if (machine === null) {
        if (step.do === 'discard') return
        throw new SlotConflict('This machine was not started by the boot loader of its ESP, so it cannot be updated')
      }
      if (step.do === 'activate') activate(machine)
      else if (step.do === 'discard') dropUncommitted(machine)
      else machine.incoming.take(step)
      if (step.do === 'finish') machine.esp.rest()
    },
  }
}
