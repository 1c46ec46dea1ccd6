/**
 * Determines at a start of the device whether the running version is on trial, and the result of a previous trial, from the
 * record on the data partition and the counters on the ESP.
 */

import * as z from 'zod'
import { openRecord } from '../base/record.ts'
import { explain } from '../versions/slot-error.ts'
import { describeFallback, NOT_READY, type Running, type SlotsOptions } from '../versions/slots.ts'
import type { StoreCopy } from '../versions/store-copy.ts'
import { isTried, othersThan } from './device-incoming.ts'
import { ALL_TRIES, type BootEntry, TRIES, type TriesCounter } from './esp/boot-count.ts'
import type { Esp } from './esp/esp.ts'

/** All versions of the boot manager share this schema: members may be added but never changed, and unknown ones are ignored. */
const recordSchema = z.object({
  /** The last version that was good. */
  active: z.string().nullable(),
  trial: z.object({ version: z.string(), problem: z.string().nullable() }).nullable(),
  fallback: z.string().nullable(),
})

type SlotsRecord = ReturnType<typeof openSlotsRecord>

const FRESH = { active: null, trial: null, fallback: null }

export const openSlotsRecord = (dataDirectory: string) =>
  openRecord({
    path: `${dataDirectory}/slots.json`,
    schema: recordSchema,
    initial: FRESH,
    damaged: { ...FRESH, fallback: 'The record of installed versions is damaged' },
  })

export const recordGoodVersion = (dataDirectory: string, version: string): void =>
  openSlotsRecord(dataDirectory).save({ ...FRESH, active: version })

interface StartOptions {
  own: SlotsOptions['own']
  esp: Esp
  record: SlotsRecord
  storeCopy: StoreCopy
  raiseMinimum: () => void
  /** True for versions that get no device key once the running version is good. */
  rulesOut: (version: string) => boolean
}

/** For a machine whose boot loader counts no tries. */
export const startUncounted = (own: SlotsOptions['own'], record: SlotsRecord): Running => ({
  ...own,
  trial: false,
  counted: false,
  fallback: record.value.fallback,
})

export function startCounted(options: StartOptions): Running {
  const { own, esp, record } = options
  const entry = entryOfVersion(own.version, esp)
  const counted = entry !== undefined && entry.counter !== null && !stoodBack(entry.counter)
  const onTrial = counted && record.value.active !== own.version
  return onTrial ? tryOwn(options) : runProven(options, entry)
}

function tryOwn({ own, record, storeCopy }: StartOptions): Running {
  const { active, trial } = record.value
  if (trial?.version !== own.version)
    record.saveIfPossible({ active, trial: { version: own.version, problem: null }, fallback: null })
  try {
    if (!storeCopy.exists()) storeCopy.make()
  } catch (error) {
    const problem = `it could not start its trial: ${explain(error)}`
    noteFailure(record, own.version, problem)
    throw new Error(problem) // the try ends with the boot manager
  }
  return { ...own, trial: true, counted: false, fallback: null }
}

/**
 * Handles the start of a good version: a version that was tried before is given up. All steps are repeated if a power cut
 * interrupts them.
 */
function runProven(options: StartOptions, entry: BootEntry | undefined): Running {
  const { own, esp, record, storeCopy, raiseMinimum, rulesOut } = options
  const others = othersThan(own.version, esp)
  const { trial } = record.value
  const tried = others.filter(isTried)
  const left = trial !== null && trial.version !== own.version ? trial : null
  if (left !== null || tried.length > 0) storeCopy.restore()
  else storeCopy.remove()
  const leaving = others.filter((other) => isTried(other) || (entry !== undefined && rulesOut(other.version)))
  const counted = others.length > leaving.length
  const changes = entry !== undefined && counted === (entry.counter === null)
  if (leaving.length > 0 || changes)
    esp.change(({ remove, recount }) => {
      leaving.forEach(remove)
      if (changes) recount(entry, counted ? ALL_TRIES : null)
    })
  const fallback =
    left === null ? describeTried(tried) : describeFallback(`Version ${left.version}`, left.problem ?? NOT_READY)
  record.saveIfPossible({ active: own.version, trial: null, fallback: fallback ?? record.value.fallback })
  raiseMinimum() // after the excluded versions are removed
  return { ...own, trial: false, counted, fallback: record.value.fallback }
}

function describeTried([entry]: BootEntry[]): string | null {
  if (entry === undefined) return null
  const untouched = entry.counter?.done === 0
  return describeFallback(`Version ${entry.version}`, untouched ? 'the boot loader did not start it' : NOT_READY)
}

/** Records the reason of a failed try. The next successful start clears it; the start of another version reports it. */
export function noteFailure(record: SlotsRecord, version: string, problem: string): void {
  record.saveIfPossible({ ...record.value, trial: { version, problem } })
}

export const entryOfVersion = (version: string, esp: Esp): BootEntry | undefined =>
  esp.entries().find((entry) => entry.version === version)

/** True for a good version that ranked last while an older version was started. */
const stoodBack = ({ left, done }: TriesCounter): boolean => left === 0 && done < TRIES
