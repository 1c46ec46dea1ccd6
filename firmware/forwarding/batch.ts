/** One batch of messages for the log server, which a connection of its own takes and confirms as a whole. */

import type { AuditForwarding } from '../audit/audit-log.ts'
import type { SyslogSettings } from '../configuration/syslog.ts'
import type { LogQueue } from './log-queue.ts'
import { createMessageWriter, type MessageWriter } from './messages.ts'

/** A part is exceeded by one message at most, so that both and a head fit into a job: `REQUEST_BYTES_MAX`. */
const AUDIT_BYTES_MAX = 512 * 1024
const LOG_BYTES_MAX = 384 * 1024 // a use makes one line of the audit log and two of the system log, which are shorter

/** Ends of a batch, or of the one before it. */
export interface BatchEnd {
  /** Number of the newest audit line, and within its ring that of the newest use, 0 for none in the batch. */
  sequence: number
  uses: number
  /** Within its ring the number of the oldest use, 0 for none in the batch. */
  firstUse: number
  /** Number of the newest entry of the system log. */
  entry: number
  /** Numbers of audit lines that are lost. */
  lost: number
}

export const NOTHING: BatchEnd = { sequence: 0, uses: 0, firstUse: 0, entry: 0, lost: 0 }

export interface Batch {
  frames: Uint8Array
  end: BatchEnd
  /** True if more waits. */
  isFull: boolean
}

interface BatchSources {
  audit: AuditForwarding | undefined
  queue: LogQueue
  hostname: string
  nextId: () => number
  now: () => number
  /** Share of the bytes that a batch may have, up to 1. */
  share: number
}

/** Returns null if nothing waits behind `from`. */
export async function readBatch(
  { audit, queue, hostname, nextId, now, share }: BatchSources,
  send: SyslogSettings['send'],
  from: BatchEnd,
): Promise<Batch | null> {
  const writer = createMessageWriter(hostname, nextId)
  const after = { sequence: from.sequence, entry: from.entry }
  const auditBytes = AUDIT_BYTES_MAX * share
  const lines =
    audit !== undefined && send !== 'log' ? await addLines(writer, audit, after.sequence, now, auditBytes) : null
  const entries = send === 'audit' ? null : addEntries(writer, queue, after.entry, now, LOG_BYTES_MAX * share)
  if (writer.bytes === 0) return null
  return {
    frames: writer.toBytes(),
    end: { ...NOTHING, ...after, ...lines?.end, ...entries?.end },
    isFull: lines?.isFull === true || entries?.isFull === true,
  }
}

async function addLines(
  writer: MessageWriter,
  audit: AuditForwarding,
  after: number,
  now: () => number,
  bytesMax: number,
) {
  const end: Omit<BatchEnd, 'entry'> = { sequence: after, uses: 0, firstUse: 0, lost: 0 }
  const isFull = await addUntilFull()
  if (end.sequence > after) writer.head(audit.head())
  return { end, isFull }

  async function addUntilFull(): Promise<boolean> {
    for await (const chunk of audit.since(after))
      for (const { line, number } of chunk) {
        if (writer.bytes >= bytesMax) return true
        const missing = line.sequence - end.sequence - 1
        if (missing > 0) writer.gap({ from: end.sequence + 1, to: line.sequence - 1 }, now())
        writer.auditLine(line)
        end.sequence = line.sequence
        end.lost += missing
        if (line.kind !== 'use') continue
        end.uses = number
        end.firstUse ||= number
      }
    return false
  }
}

function addEntries(writer: MessageWriter, queue: LogQueue, after: number, now: () => number, bytes: number) {
  const bytesMax = writer.bytes + bytes
  let entry = after
  for (let next = queue.at(entry + 1); next !== null; next = queue.at(entry + 1)) {
    if (writer.bytes >= bytesMax) return { end: { entry }, isFull: true }
    const dropped = next.number - entry - 1
    const message = `${dropped} lines before this one were dropped: the log server did not take them in time`
    if (dropped > 0) writer.entry({ level: 'warning', source: 'general', message, timeMs: now() })
    writer.entry(next.entry)
    entry = next.number
  }
  return { end: { entry }, isFull: false }
}
