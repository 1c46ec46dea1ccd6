/**
 * The versions of the firmware on a host: the one that came with the boot manager, and two slots that updates fill.
 *
 * A new version is on trial until it is healthy. It has three tries; then, or when its files are damaged, the version
 * before it runs again by itself, on the store as that version left it. A bundle of another version that was installed
 * by hand goes before what updates had put into the slots.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { z } from 'zod'
import { syncDirectory, writeDurably } from './files.ts'
import type { Firmware } from './own-firmware.ts'
import type { SlotStep } from './protocol.ts'
import { type IncomingFiles, openIncoming, SlotError, verifyVersion } from './slot-files.ts'
import { createStoreCopy } from './store-copy.ts'

export interface Version extends Firmware {
  version: string
}

/** What is started. */
export interface Running extends Version {
  trial: boolean
  /** Which version was tried last and why it was left. */
  fallback: string | null
}

export interface Slots {
  /** Called before each start of the firmware: drops what was not committed, and counts a try of a version on trial. */
  choose(): Running
  /** The running version is healthy: its trial is over. Throws an error of the file system, and it is not over. */
  markGood(): void
  /** Why the running try failed. */
  noteFailure(problem: string): void
  /** Throws a SlotError, or an error of the file system. */
  take(step: SlotStep): void
}

export interface SlotsOptions {
  /** Made when it is needed first. */
  directory: string
  storeDirectory: string
  own: Version
  /** Null when none is installed: then no version in a slot can be verified, and none is run. */
  releaseKey: Uint8Array | null
}

const TRIES = 3
const OWN = 0 // stands for the version that came with the boot manager
const SLOTS = [1, 2] as const

const place = z.literal([OWN, ...SLOTS])
const stateSchema = z.strictObject({
  /** Version of the boot manager that wrote this. */
  own: z.string(),
  active: place,
  /** Runs when the active one is damaged. */
  previous: place,
  trial: z.strictObject({ slot: z.literal(SLOTS), triesLeft: z.int(), problem: z.string().nullable() }).nullable(),
  fallback: z.string().nullable(),
})
type State = z.infer<typeof stateSchema>
type Place = State['active']

export function openSlots({ directory, storeDirectory, own, releaseKey }: SlotsOptions): Slots {
  const statePath = `${directory}/state.json`
  const incomingPath = `${directory}/incoming`
  const slotPath = (slot: Place) => `${directory}/${slot}`
  const storeCopy = createStoreCopy(storeDirectory)
  let state = readState()
  let incoming: IncomingFiles | null = null
  let ready = false

  function readState(): State {
    const initial: State = { own: own.version, active: OWN, previous: OWN, trial: null, fallback: null }
    if (!existsSync(statePath)) return initial
    try {
      return stateSchema.parse(JSON.parse(readFileSync(statePath, 'utf8')))
    } catch {
      return { ...initial, fallback: `The record of installed versions is damaged; ${own.version} runs` }
    }
  }

  function save(next: State): void {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    writeDurably(statePath, new TextEncoder().encode(`${JSON.stringify(next, null, 2)}\n`))
    state = next
  }

  /** For what must go on when the disk is full: the next boot manager then finds the record as it was before. */
  function saveIfPossible(next: State): void {
    try {
      save(next)
    } catch (error) {
      explain(error) // throws what is no error of the disk
      state = next
    }
  }

  /** The version in a place, or why it cannot run. */
  function look(slot: Place): Version | { problem: string } {
    if (slot === OWN) return own
    if (releaseKey === null) return { problem: 'there is no release key to verify it with' }
    try {
      const { version } = verifyVersion(slotPath(slot), releaseKey)
      return { version, program: `${slotPath(slot)}/firmware.js`, readable: [`${slotPath(slot)}/`] }
    } catch (error) {
      return { problem: `it is damaged (${explain(error)})` }
    }
  }

  /** Ends the trial in favour of the version before. */
  function leave(problem: string): null {
    storeCopy.restore()
    saveIfPossible({ ...state, trial: null, fallback: `${nameOf(state.trial!.slot)} was tried and left: ${problem}` })
    return null
  }

  /** From its manifest, if that can be read at all. */
  function nameOf(slot: Place): string {
    try {
      const { version } = JSON.parse(readFileSync(`${slotPath(slot)}/manifest.json`, 'utf8')) as { version: unknown }
      return `Version ${String(version)}`
    } catch {
      return 'A version'
    }
  }

  function tryTrial(): Running | null {
    const { slot, triesLeft, problem } = state.trial!
    const version = look(slot)
    if ('problem' in version) return leave(version.problem)
    if (triesLeft <= 0) return leave(problem ?? 'it did not become ready')
    try {
      if (triesLeft === TRIES || !storeCopy.exists()) storeCopy.make()
      save({ ...state, trial: { slot, triesLeft: triesLeft - 1, problem } })
    } catch (error) {
      return leave(`it could not be tried because ${explain(error)}`)
    }
    return { ...version, trial: true, fallback: null }
  }

  function chooseProven(): Running {
    for (const place of new Set([state.active, state.previous])) {
      const version = look(place)
      if (!('problem' in version)) return { ...version, trial: false, fallback: state.fallback }
      saveIfPossible({ ...state, fallback: `${nameOf(place)} was left: ${version.problem}` })
    }
    return { ...own, trial: false, fallback: state.fallback }
  }

  function dropUncommitted(): void {
    incoming?.close()
    incoming = null
    ready = false
    if (!existsSync(directory)) return
    const kept = new Set(['state.json', ...[state.active, state.previous, state.trial?.slot].map(String)])
    for (const name of readdirSync(directory))
      if (!kept.has(name)) rmSync(`${directory}/${name}`, { recursive: true, force: true })
  }

  function activate(): void {
    if (!ready) throw new SlotError('No version is ready')
    const slot = state.active === 1 ? 2 : 1
    rmSync(slotPath(slot), { recursive: true, force: true })
    renameSync(incomingPath, slotPath(slot))
    try {
      syncDirectory(directory)
      const previous = state.previous === slot ? OWN : state.previous
      save({ ...state, previous, trial: { slot, triesLeft: TRIES, problem: null }, fallback: null })
    } catch (error) {
      renameSync(slotPath(slot), incomingPath) // still to be committed
      throw error
    }
    ready = false
  }

  return {
    choose: () => {
      if (state.own !== own.version) {
        if (state.trial !== null) leave(`version ${own.version} was installed`)
        saveIfPossible({ ...state, own: own.version, active: OWN, previous: OWN })
      }
      const tried = state.trial === null ? null : tryTrial()
      dropUncommitted()
      if (tried !== null) return tried
      storeCopy.remove()
      return chooseProven()
    },
    markGood: () => {
      const { trial, active } = state
      if (trial === null) return
      save({ ...state, active: trial.slot, previous: active, trial: null })
      storeCopy.remove()
    },
    noteFailure: (problem) => {
      if (state.trial !== null) saveIfPossible({ ...state, trial: { ...state.trial, problem } })
    },
    take: (step) => {
      switch (step.do) {
        case 'begin':
          dropUncommitted()
          if (releaseKey === null) throw new SlotError('There is no release key')
          if (state.trial !== null) throw new SlotError('The running version is still on trial')
          incoming = openIncoming(incomingPath, step, releaseKey)
          checkRunnable(incoming.manifest.members.map(({ name }) => name))
          break
        case 'write':
          if (incoming === null) throw new SlotError('No version has been begun')
          incoming.write(step.name, step.bytes)
          break
        case 'finish':
          if (incoming === null) throw new SlotError('No version has been begun')
          incoming.finish()
          ready = true
          break
        case 'activate':
          activate()
          break
        case 'discard':
          dropUncommitted()
          break
      }
    },
  }
}

/** What a bundle needs at least to run on this machine. */
function checkRunnable(names: readonly string[]): void {
  for (const needed of ['firmware.js', `linux-${process.arch}.node`])
    if (!names.includes(needed)) throw new SlotError(`The image holds no ${needed}`)
}

/** For the client, the console and the system information: without paths. */
export function explain(error: unknown): string {
  if (error instanceof SlotError) return error.message
  const { code } = error as NodeJS.ErrnoException
  if (code === undefined) throw error
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'the disk is full'
  if (code === 'ENOENT') return 'a file is missing'
  return `the disk failed: ${code}`
}
