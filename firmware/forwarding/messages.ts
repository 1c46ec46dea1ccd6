/** Messages for a log server: RFC 5424, each with its length before it (RFC 5425 section 4.3). Contract section 7.6. */

import type { AuditHead, AuditLine } from '../audit/chain.ts'
import { type LogEntry, SEVERITY } from '../base/log.ts'

export interface MessageWriter {
  /** Bytes of all messages. */
  readonly bytes: number
  auditLine(line: AuditLine): void
  gap(gap: AuditGap, timeMs: number): void
  head(head: AuditHead): void
  entry(entry: TimedEntry): void
  toBytes(): Uint8Array
}

/** Lines of the audit log that are lost. */
interface AuditGap {
  from: number
  to: number
}

export interface TimedEntry extends LogEntry {
  timeMs: number
}

const AUDIT_FACILITY = 13 // log audit
const LOG_FACILITY = 3 // daemon
const AUDIT_SEVERITY = { change: 5, refusal: 4, use: 6 } as const
const HEAD_SEVERITY = 6
const GAP_SEVERITY = 4
const TEXT_BYTES_MAX = 64 * 1024 // of a message of the system log
const CUT = '...'
const SEQUENCE_MAX = 2_147_483_647 // RFC 5424 section 7.3.1

/** Numbers messages from 1 after a start: RFC 5424 section 7.3.1. */
export function createSequence(last = 0): () => number {
  let newest = last
  return () => {
    newest = newest === SEQUENCE_MAX ? 1 : newest + 1
    return newest
  }
}

/** `hostname` must be printable ASCII without spaces. */
export function createMessageWriter(hostname: string, nextId: () => number): MessageWriter {
  const frames: string[] = []
  let bytes = 0

  function add(facility: number, severity: number, time: string, id: string, text: string): void {
    const header = `<${facility * 8 + severity}>1 ${time} ${hostname} coffer - ${id} [meta sequenceId="${nextId()}"] `
    const length = header.length + Buffer.byteLength(text)
    frames.push(`${length} ${header}${text}`)
    bytes += `${length} `.length + length
  }

  return {
    get bytes() {
      return bytes
    },
    auditLine: (line) =>
      add(AUDIT_FACILITY, AUDIT_SEVERITY[line.kind ?? 'change'], line.time, 'audit', JSON.stringify(line)),
    gap: (gap, timeMs) => add(AUDIT_FACILITY, GAP_SEVERITY, timestamp(timeMs), 'gap', JSON.stringify(gap)),
    head: (head) => add(AUDIT_FACILITY, HEAD_SEVERITY, head.time, 'head', JSON.stringify({ head })),
    entry: ({ level, source, message, timeMs }) =>
      add(LOG_FACILITY, SEVERITY[level], timestamp(timeMs), source, shorten(message)),
    toBytes: () => new TextEncoder().encode(frames.join('')),
  }
}

const TIME_MS_MAX = Date.UTC(9999, 11, 31, 23, 59, 59, 999) // the form has four digits for the year: RFC 5424 section 6.2.3

const timestamp = (timeMs: number): string => new Date(Math.min(timeMs, TIME_MS_MAX)).toISOString()

function shorten(message: string): string {
  if (message.length * 3 <= TEXT_BYTES_MAX) return message // a code unit has three bytes at most
  const bytes = Buffer.from(message)
  if (bytes.length <= TEXT_BYTES_MAX) return message
  let end = TEXT_BYTES_MAX - CUT.length
  while ((bytes.readUInt8(end) & 0xc0) === 0x80) end-- // not inside a character
  return bytes.toString('utf8', 0, end) + CUT
}
