/**
 * The versions on a device: unified kernel images on the ESP, of which the boot loader starts the newest one that is
 * good or has tries left, and their root file systems in two partitions.
 *
 * The ESP counts tries; the record on the data partition says why one failed, and which version runs and is good: another
 * one that is counted is on trial. A try is a start of the machine. At most two versions stay: what runs, and what is
 * tried or ran before. The latter goes as soon as an upload is admitted, which takes the place of its root.
 */

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
  /** Root of the data partition. */
  dataDirectory: string
  /** Null when the machine was not started from its ESP: then nobody counts tries, and no update is taken. */
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
  /** The version that ran last and was good, which a factory reset leaves so; null if none has. */
  goodVersion(): string | null
}

export function openDeviceSlots(options: DeviceSlotsOptions): DeviceSlots {
  const { dataDirectory, storeDirectory, own, minimum, architecture } = options
  const record = openSlotsRecord(dataDirectory)
  const storeCopy = createStoreCopy(storeDirectory)
  const machine = options.boot === null ? null : openMachine(options.boot)
  let running: Running | null = null

  function openMachine(boot: NonNullable<DeviceSlotsOptions['boot']>): CountedBoot {
    const incoming = createDeviceIncoming({ ...options, ...boot, isOnTrial: () => running!.trial })
    return { ...boot, incoming }
  }

  const entryOf = (esp: Esp): BootEntry | undefined => entryOfVersion(own.version, esp)

  /** When the disk is full, the next start raises it. */
  function raiseMinimum(): void {
    try {
      minimum.raise()
    } catch (error) {
      explain(error) // throws what is no error of the disk
    }
  }

  /** All its tries are back, where another version stands by. */
  function recountOwn({ esp }: CountedBoot, entry: BootEntry): void {
    const counter = othersThan(own.version, esp).length > 0 ? ALL_TRIES : null
    if (entryName(own.version, counter) !== entry.file) esp.change(({ recount }) => recount(entry, counter))
  }

  /** It would get its turn when several starts of this one do not get ready, and no device key. */
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
    raiseMinimum() // last: until then the version before may still run
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
      // The boot loader takes the newest: an older one gets its turn only when this one stands back.
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
