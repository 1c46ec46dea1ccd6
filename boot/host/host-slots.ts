/**
 * The versions of the firmware on a host: the one of the boot manager, and two slots for updates.
 * A new version is on trial until it is healthy. After three tries, or if its files are damaged, the previous version runs again
 * on the store as that version left it. A bundle of another version that was installed by hand takes precedence over the slots.
 */

import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import * as z from 'zod'
import { syncDirectory } from '../base/files.ts'
import { openRecord } from '../base/record.ts'
import { verifyVersion } from '../versions/files.ts'
import { createIncoming } from '../versions/incoming.ts'
import { explain, SlotError } from '../versions/slot-error.ts'
import {
  describeFallback,
  type InstalledVersion,
  NOT_READY,
  type Running,
  type Slots,
  type SlotsOptions,
} from '../versions/slots.ts'
import { createStoreCopy } from '../versions/store-copy.ts'

const TRIES = 3
const OWN = 0 // the version that came with the boot manager
const SLOTS = [1, 2] as const

const place = z.literal([OWN, ...SLOTS])
const stateSchema = z.strictObject({
  /** Version of the boot manager that wrote this state. */
  own: z.string(),
  active: place,
  previous: place,
  trial: z.strictObject({ slot: z.literal(SLOTS), triesLeft: z.int(), problem: z.string().nullable() }).nullable(),
  fallback: z.string().nullable(),
})
type State = z.infer<typeof stateSchema>
type Place = State['active']
type Trial = NonNullable<State['trial']>

export function openSlots({ directory, storeDirectory, own, releaseKey }: SlotsOptions): Slots {
  const incomingPath = `${directory}/incoming`
  const { slotPath, look, nameOf } = createPlaces({ directory, own, releaseKey })
  const storeCopy = createStoreCopy(storeDirectory)
  const initial: State = { own: own.version, active: OWN, previous: OWN, trial: null, fallback: null }
  const record = openRecord({
    path: `${directory}/state.json`,
    schema: stateSchema,
    initial,
    damaged: { ...initial, fallback: `The record of installed versions is damaged; ${own.version} runs` },
  })
  const incoming = createIncoming({
    directory: incomingPath,
    releaseKey,
    admit: ({ members }) => {
      if (record.value.trial !== null) throw new SlotError('The running version is still on trial')
      checkRunnable(members.map(({ name }) => name))
    },
  })

  /** Ends the trial and returns to the previous version. */
  function leave({ slot }: Trial, problem: string): null {
    storeCopy.restore()
    const fallback = describeFallback(nameOf(slot), problem)
    record.saveIfPossible({ ...record.value, trial: null, fallback })
    return null
  }

  function tryTrial(trial: Trial): Running | null {
    const { slot, triesLeft, problem } = trial
    const version = look(slot)
    if ('problem' in version) return leave(trial, version.problem)
    if (triesLeft <= 0) return leave(trial, problem ?? NOT_READY)
    try {
      if (triesLeft === TRIES || !storeCopy.exists()) storeCopy.make()
      record.save({ ...record.value, trial: { slot, triesLeft: triesLeft - 1, problem } })
    } catch (error) {
      return leave(trial, `it could not start its trial: ${explain(error)}`)
    }
    return { ...version, trial: true, counted: false, fallback: null }
  }

  function chooseProven(): Running {
    for (const place of new Set([record.value.active, record.value.previous])) {
      const version = look(place)
      if (!('problem' in version)) return proven(version)
      record.saveIfPossible({ ...record.value, fallback: `${nameOf(place)} was rolled back: ${version.problem}` })
    }
    return proven(own)
  }

  const proven = (version: InstalledVersion): Running => ({
    ...version,
    trial: false,
    counted: false,
    fallback: record.value.fallback,
  })

  function dropUncommitted(): void {
    incoming.drop()
    if (!existsSync(directory)) return
    const { active, previous, trial } = record.value
    const kept = new Set(['state.json', ...[active, previous, trial?.slot].map(String)])
    for (const name of readdirSync(directory))
      if (!kept.has(name)) rmSync(`${directory}/${name}`, { recursive: true, force: true })
  }

  function activate(): void {
    incoming.ready()
    const slot = record.value.active === 1 ? 2 : 1
    rmSync(slotPath(slot), { recursive: true, force: true })
    renameSync(incomingPath, slotPath(slot))
    try {
      syncDirectory(directory)
      const previous = record.value.previous === slot ? OWN : record.value.previous
      record.save({ ...record.value, previous, trial: { slot, triesLeft: TRIES, problem: null }, fallback: null })
    } catch (error) {
      renameSync(slotPath(slot), incomingPath) // not committed yet
      throw error
    }
    incoming.taken()
  }

  return {
    choose: () => {
      if (record.value.own !== own.version) {
        const { trial } = record.value
        if (trial !== null) leave(trial, `version ${own.version} was installed`)
        record.saveIfPossible({ ...record.value, own: own.version, active: OWN, previous: OWN })
      }
      const { trial } = record.value
      const tried = trial === null ? null : tryTrial(trial)
      dropUncommitted()
      if (tried !== null) return tried
      storeCopy.remove()
      return chooseProven()
    },
    markGood: () => {
      const { trial, active } = record.value
      if (trial === null) return
      record.save({ ...record.value, active: trial.slot, previous: active, trial: null })
      storeCopy.remove()
    },
    noteFailure: (problem) => {
      const { trial } = record.value
      if (trial !== null) record.saveIfPossible({ ...record.value, trial: { ...trial, problem } })
    },
    take: (step) => {
      if (step.do === 'activate') activate()
      else if (step.do === 'discard') dropUncommitted()
      else incoming.take(step)
    },
  }
}

/** Throws a SlotError unless the bundle has the files that this machine needs. */
function checkRunnable(names: readonly string[]): void {
  for (const needed of ['firmware.js', `linux-${process.arch}.node`])
    if (!names.includes(needed)) throw new SlotError(`The image does not contain ${needed}`)
}

function createPlaces({ directory, own, releaseKey }: Pick<SlotsOptions, 'directory' | 'own' | 'releaseKey'>) {
  const slotPath = (slot: Place) => `${directory}/${slot}`

  /** Returns the version in a place, or the reason why it cannot run. */
  function look(slot: Place): InstalledVersion | { problem: string } {
    if (slot === OWN) return own
    if (releaseKey === null) return { problem: 'there is no release key to verify it with' }
    try {
      const { version } = verifyVersion(slotPath(slot), releaseKey)
      return { version, program: `${slotPath(slot)}/firmware.js`, readable: [`${slotPath(slot)}/`] }
    } catch (error) {
      return { problem: `it is damaged (${explain(error)})` }
    }
  }

  /** Name from the manifest, if that can be read. */
  function nameOf(slot: Place): string {
    try {
      const { version } = JSON.parse(readFileSync(`${slotPath(slot)}/manifest.json`, 'utf8')) as { version: unknown }
      return `Version ${String(version)}`
    } catch {
      return 'A version'
    }
  }

  return { slotPath, look, nameOf }
}
