/**
 * The versions on a device: unified kernel images on the ESP, of which the boot loader starts the newest one that is
 * good or has tries left, and their root file systems in two partitions.
 *
 * The ESP counts tries; the record on the data partition says why one failed, and which version runs and is good: another
 * one that is counted is on trial. A try is a start of the machine. At most two versions stay: what runs, and what is
 * tried or ran before. The latter goes as soon as an upload is admitted, which takes the place of its root.
 */

import * as z from 'zod'
import { isNewer } from '../../firmware/release/version.ts'
import { openRecord } from '../base/record.ts'
import type { Incoming } from '../versions/incoming.ts'
import { explain, SlotConflict, SlotError } from '../versions/slot-error.ts'
import { describeFallback, NOT_READY, type Running, type Slots, type SlotsOptions } from '../versions/slots.ts'
import { createStoreCopy } from '../versions/store-copy.ts'
import { createDeviceIncoming, isTried, kernelMemberOf, othersThan, refuseWithoutRoom } from './device-incoming.ts'
import {
  ALL_TRIES,
  type BootEntry,
  type BootLoader,
  type Counter,
  entryName,
  LAST_RESORT,
  startedOnTrial,
  TRIES,
} from './esp/boot-count.ts'
import type { Esp } from './esp/esp.ts'
import type { Architecture } from './esp/kernel-image.ts'
import type { SecureBoot } from './esp/secure-boot.ts'
import type { MinimumVersion } from './minimum-version.ts'
import type { OurDisk } from './system/disk.ts'

export interface DeviceSlotsOptions extends Pick<SlotsOptions, 'storeDirectory' | 'own' | 'releaseKey'> {
  /** Root of the data partition. */
  dataDirectory: string
  /** Null when the machine was not started from its ESP: then nobody counts tries, and no update is taken. */
  boot: { esp: Esp; loader: BootLoader; spareRoot: OurDisk['spareRoot'] } | null
  architecture: Architecture
  secureBoot: SecureBoot | null
  minimum: Pick<MinimumVersion, 'admit' | 'raise'>
}

interface Machine {
  esp: Esp
  loader: BootLoader
  incoming: Incoming
}

/** Versions of the boot manager share it: members may be added, never changed, and unknown ones are passed over. */
const recordSchema = z.object({
  /** The version that ran last and was good. */
  active: z.string().nullable(),
  trial: z.object({ version: z.string(), problem: z.string().nullable() }).nullable(),
  fallback: z.string().nullable(),
})

export function openDeviceSlots(options: DeviceSlotsOptions): Slots {
  const { dataDirectory, storeDirectory, own, minimum, architecture } = options
  const fresh = { active: null, trial: null, fallback: null }
  const record = openRecord({
    path: `${dataDirectory}/slots.json`,
    schema: recordSchema,
    initial: fresh,
    damaged: { ...fresh, fallback: 'The record of installed versions is damaged' },
  })
  const storeCopy = createStoreCopy(storeDirectory)
  const machine = options.boot === null ? null : openMachine(options.boot)
  let running: Running | null = null

  function openMachine(boot: NonNullable<DeviceSlotsOptions['boot']>): Machine {
    const incoming = createDeviceIncoming({ ...options, ...boot, isOnTrial: () => running!.trial })
    return { ...boot, incoming }
  }

  const entryOf = (esp: Esp): BootEntry | undefined => esp.entries().find(({ version }) => version === own.version)
  const others = (esp: Esp): BootEntry[] => othersThan(own.version, esp)

  function start(): Running {
    if (machine === null) return { ...own, trial: false, counted: false, fallback: record.value.fallback }
    const entry = entryOf(machine.esp)
    const counted = entry !== undefined && entry.counter !== null && !stoodBack(entry.counter)
    const onTrial = counted && record.value.active !== own.version
    return onTrial ? tryOwn() : runProven(machine.esp, entry)
  }

  function tryOwn(): Running {
    const { active, trial } = record.value
    if (trial?.version !== own.version)
      record.saveIfPossible({ active, trial: { version: own.version, problem: null }, fallback: null })
    try {
      if (!storeCopy.exists()) storeCopy.make()
    } catch (error) {
      const problem = `it could not be tried because ${explain(error)}`
      noteFailure(problem)
      throw new Error(problem) // our end is the end of this try
    }
    return { ...own, trial: true, counted: false, fallback: null }
  }

  /** This version is good. What was tried before it is left; steps that a power cut interrupts are all taken again. */
  function runProven(esp: Esp, entry: BootEntry | undefined): Running {
    const { trial } = record.value
    const tried = others(esp).filter(isTried)
    const left = trial !== null && trial.version !== own.version ? trial : null
    if (left !== null || tried.length > 0) storeCopy.restore()
    else storeCopy.remove()
    const counted = others(esp).length > tried.length
    const changes = entry !== undefined && counted === (entry.counter === null)
    if (tried.length > 0 || changes)
      esp.change(({ remove, recount }) => {
        tried.forEach(remove)
        if (changes) recount(entry, counted ? ALL_TRIES : null)
      })
    const fallback =
      left === null ? describeTried(tried) : describeFallback(`Version ${left.version}`, left.problem ?? NOT_READY)
    record.saveIfPossible({ active: own.version, trial: null, fallback: fallback ?? record.value.fallback })
    raiseMinimum()
    return { ...own, trial: false, counted, fallback: record.value.fallback }
  }

  /** For versions that never got as far as to leave a record. */
  function describeTried([entry]: BootEntry[]): string | null {
    if (entry === undefined) return null
    const untouched = entry.counter?.done === 0
    return describeFallback(`Version ${entry.version}`, untouched ? 'the boot loader did not start it' : NOT_READY)
  }

  /** When the disk is full, the next start raises it. */
  function raiseMinimum(): void {
    try {
      minimum.raise()
    } catch (error) {
      explain(error) // throws what is no error of the disk
    }
  }

  /** The next start that gets ready forgets it, unless it is another version's: that tells it. */
  function noteFailure(problem: string): void {
    record.saveIfPossible({ ...record.value, trial: { version: own.version, problem } })
  }

  /** All its tries are back, where another version stands by. */
  function recountOwn({ esp }: Machine, entry: BootEntry): void {
    const counter = others(esp).length > 0 ? ALL_TRIES : null
    if (entryName(own.version, counter) !== entry.file) esp.change(({ recount }) => recount(entry, counter))
  }

  function endTrial(machine: Machine): void {
    const entry = entryOf(machine.esp)
    if (entry === undefined || !startedOnTrial(machine.loader, own.version))
      throw new SlotError('the boot loader did not start it as the version on trial')
    recountOwn(machine, entry)
    record.save({ active: own.version, trial: null, fallback: null })
    storeCopy.remove()
    raiseMinimum()
  }

  function endStart(machine: Machine): void {
    const entry = entryOf(machine.esp)
    if (entry !== undefined) recountOwn(machine, entry)
  }

  function dropUncommitted({ esp, incoming }: Machine): void {
    esp.open()
    try {
      incoming.drop()
    } finally {
      esp.rest()
    }
  }

  function activate({ esp, incoming }: Machine): void {
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
      running ??= start()
      return running
    },
    markGood: () => {
      if (machine === null || running === null) return
      if (running.trial) endTrial(machine)
      else if (running.counted) endStart(machine)
      running = { ...running, trial: false, counted: false }
    },
    noteFailure,
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

/** It was good before, and waited while an older version had its turn. */
const stoodBack = ({ left, done }: Counter): boolean => left === 0 && done < TRIES
