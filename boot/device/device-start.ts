/**
 * What a start of the device finds: whether the version that runs is on trial, and what became of one that was. The record on
 * the data partition says so together with the counters on the ESP.
 */

import * as z from 'zod'
import { openRecord } from '../base/record.ts'
import { explain } from '../versions/slot-error.ts'
import { describeFallback, NOT_READY, type Running, type SlotsOptions } from '../versions/slots.ts'
import type { StoreCopy } from '../versions/store-copy.ts'
import { isTried, othersThan } from './device-incoming.ts'
import { ALL_TRIES, type BootEntry, TRIES, type TriesCounter } from './esp/boot-count.ts'
import type { Esp } from './esp/esp.ts'

/** Versions of the boot manager share it: members may be added, never changed, and unknown ones are passed over. */
const recordSchema = z.object({
  /** The version that ran last and was good. */
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

/** For a data partition that is made anew. */
export const recordGoodVersion = (dataDirectory: string, version: string): void =>
  openSlotsRecord(dataDirectory).save({ ...FRESH, active: version })

interface StartOptions {
  own: SlotsOptions['own']
  esp: Esp
  record: SlotsRecord
  storeCopy: StoreCopy
  raiseMinimum: () => void
  /** What will get the device key no more, once what runs is good. */
  rulesOut: (version: string) => boolean
}

/** Of a machine whose boot loader counts no tries. */
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
    const problem = `it could not be tried because ${explain(error)}`
    noteFailure(record, own.version, problem)
    throw new Error(problem) // our end is the end of this try
  }
  return { ...own, trial: true, counted: false, fallback: null }
}

/** This version is good. What was tried before it is left; steps that a power cut interrupts are all taken again. */
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
  raiseMinimum() // after what it rules out is gone
  return { ...own, trial: false, counted, fallback: record.value.fallback }
}

/** For versions that never got as far as to leave a record. */
function describeTried([entry]: BootEntry[]): string | null {
  if (entry === undefined) return null
  const untouched = entry.counter?.done === 0
  return describeFallback(`Version ${entry.version}`, untouched ? 'the boot loader did not start it' : NOT_READY)
}

/** The next start that gets ready forgets it, unless it is another version's: that tells it. */
export function noteFailure(record: SlotsRecord, version: string, problem: string): void {
  record.saveIfPossible({ ...record.value, trial: { version, problem } })
}

export const entryOfVersion = (version: string, esp: Esp): BootEntry | undefined =>
  esp.entries().find((entry) => entry.version === version)

/** It was good before, and waited while an older version had its turn. */
const stoodBack = ({ left, done }: TriesCounter): boolean => left === 0 && done < TRIES
