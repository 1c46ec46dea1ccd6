/** A stager on real slots in a temporary directory. */

import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openSlots } from '../../boot/host/host-slots.ts'
import { explain } from '../../boot/versions/slot-error.ts'
import type { Slots } from '../../boot/versions/slots.ts'
import { CofferError } from '../../firmware/base/error.ts'
import { createLog, type LogEntry } from '../../firmware/base/log.ts'
import type { SlotStep } from '../../firmware/channel/protocol.ts'
import { createStager, type Stager } from '../../firmware/release/stager.ts'
import { INSTALLED, releasePublicKey } from './archives.ts'

export interface Rig {
  directory: string
  store: string
  slots: Slots
  stager: Stager
  steps: SlotStep['do'][]
  entries: LogEntry[]
  /** As a new boot manager finds what is on disk. */
  reopen(version?: string): Slots
  files(): string[]
}

export interface Options {
  releaseKey?: Uint8Array | null
  onStep?: (step: SlotStep) => void
}

export function openRig(t: Pick<TestContext, 'after'>, { releaseKey = releasePublicKey, onStep }: Options = {}): Rig {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-update-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const store = join(directory, 'store')
  mkdirSync(store)
  writeFileSync(join(store, 'records'), 'as before')
  const slotsDirectory = join(directory, 'slots')
  const reopen = (version = INSTALLED) => {
    const own = { version, program: 'own.js', readable: ['own/'] }
    return openSlots({ directory: slotsDirectory, storeDirectory: store, own, releaseKey })
  }
  const slots = reopen()
  const steps: SlotStep['do'][] = []
  const entries: LogEntry[] = []
  const machine = {
    slot: async (step: SlotStep) => {
      steps.push(step.do)
      try {
        onStep?.(step)
        slots.take(step)
      } catch (error) {
        throw new CofferError('invalid', explain(error))
      }
    },
  }
  const log = createLog('debug', (entry) => entries.push(entry))
  const stager = createStager({ bootManager: machine, releaseKey, product: 'Coffer', version: INSTALLED, log })
  const files = () =>
    existsSync(slotsDirectory) ? readdirSync(slotsDirectory, { recursive: true }).map(String).sort() : []
  return { directory, store, slots, stager, steps, entries, reopen, files }
}
