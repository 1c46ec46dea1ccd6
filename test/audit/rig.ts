/** An audit log over a temporary store, with a clock and a disk in the test's hands. */

import { copyFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { type AuditLog, openAuditLog } from '../../firmware/audit/audit-log.ts'
import type { AuditEvent } from '../../firmware/audit/chain.ts'
import { CofferError } from '../../firmware/base/error.ts'
import { createLog } from '../../firmware/base/log.ts'
import { type Verdict, verifyExport } from '../../firmware/client/audit-verify.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import type { StoreFile } from '../../firmware/store/store.ts'
import { createStoreRig, DEVICE_KEY, type StoreRig } from '../store/rig.ts'

export const TIME = '2030-01-02T03:04:05Z'

export interface AuditRig extends StoreRig {
  store: StoreFile
  log: AuditLog
  errors: string[]
  nowMs: number
  /** For each transaction of the log: true if it waited for the disk. */
  synced: boolean[]
  full: boolean
  reopen(between?: (store: StoreFile) => void): void
}

/** `from` is a store to begin with. */
export function createAuditRig(t: TestContext, from?: string): AuditRig {
  const storeRig = createStoreRig(t)
  if (from !== undefined) copyFileSync(from, storeRig.path)
  const errors: string[] = []
  const openLog = (store: StoreFile): AuditLog => {
    const { record } = store
    store.record = (changes, synced) => {
      if (rig.full) throw new CofferError('storage', 'The disk is full')
      record(changes, synced)
      rig.synced.push(synced)
    }
    return openAuditLog({
      store,
      deviceKey: DEVICE_KEY,
      random: systemRandom,
      log: createLog('error', ({ message }) => errors.push(message)),
      time: () => TIME,
      monotonicMs: () => rig.nowMs,
    })
  }
  const store = storeRig.open()
  const rig = { ...storeRig, store, errors, synced: [] as boolean[], nowMs: 0, full: false } as AuditRig
  rig.log = openLog(store)
  rig.reopen = (between) => {
    rig.log.close()
    between?.(rig.store)
    rig.store.close()
    rig.store = storeRig.open()
    rig.log = openLog(rig.store)
  }
  t.after(() => rig.log.close())
  return rig
}

export const event = (more: Partial<AuditEvent> = {}): AuditEvent => ({
  time: TIME,
  user: 'operator',
  address: '192.0.2.1',
  action: 'POST /keys/{id}/sign',
  key: 'key',
  namespace: '',
  result: 200,
  ...more,
})

/** Records lines that tell their number by their key, from `from` on. */
export function recordLines(log: AuditLog, count: number, from = 1): void {
  for (let n = from; n < from + count; n++) void log.record(event({ key: `key-${n}` }), 'use')
}

export const keepLines = (log: AuditLog, lines: number): void =>
  log.configure({ ...log.settings, lines: { change: lines, refusal: lines, use: lines } })

export async function exportTexts(log: AuditLog): Promise<string[]> {
  let text = ''
  for await (const chunk of log.export()) text += new TextDecoder().decode(chunk)
  return text.trimEnd().split('\n')
}

export const verify = (texts: readonly string[], expectations?: Parameters<typeof verifyExport>[1]): Promise<Verdict> =>
  verifyExport(
    (async function* () {
      for (const text of texts) yield Buffer.from(`${text}\n`)
    })(),
    expectations,
  )

export async function problemsOf(log: AuditLog): Promise<string[]> {
  return (await verify(await exportTexts(log))).problems
}

export async function readAll(log: AuditLog, query: { limit?: number; key?: string; user?: string } = {}) {
  const sequences: number[] = []
  let before: number | undefined
  let pages = 0
  do {
    const page = await log.page({ limit: 1000, ...query, ...(before !== undefined && { before }) })
    sequences.push(...page.lines.map(({ sequence }) => sequence))
    before = page.next
    pages++
  } while (before !== undefined)
  return { sequences, pages }
}
