/** The log: sources, levels and sequence numbers of contract section 7.6; sinks are given from outside. */

import { defined } from './defined.ts'
import { UNPRINTABLE } from './printable.ts'

/** Syslog severities the appliance uses, contract 4.7. */
export type LogLevel = 'debug' | 'info' | 'warning' | 'error'

type LogSource = 'access' | 'users' | 'keys' | 'namespaces' | 'general' | 'cluster' | 'chat' | 'outgoing'

export interface LogEntry {
  level: LogLevel
  source: LogSource
  /** Starts with `[n] `, n counting from 1 after start. */
  message: string
}

export interface Log {
  debug(source: LogSource, message: string): void
  info(source: LogSource, message: string): void
  warning(source: LogSource, message: string): void
  error(source: LogSource, message: string): void
  /** Entries at this level and above are written; `setLevel` applies at once. */
  setLevel(level: LogLevel): void
  readonly level: LogLevel
  /** Entries since start by level, written or not, for the metrics. */
  readonly counts: Readonly<Record<LogLevel, number>>
}

export const SEVERITY: Readonly<Record<LogLevel, number>> = { error: 3, warning: 4, info: 6, debug: 7 } // RFC 3164 section 4.1.1

const PLAIN = /^[ -~]*$/ // what nearly all is

/** Line breaks and bidirectional overrides could forge entries, so unprintable characters are escaped. */
const escapeUnprintable = (text: string): string =>
  PLAIN.test(text)
    ? text
    : text.replace(UNPRINTABLE, (c) => `\\u${defined(c.codePointAt(0)).toString(16).padStart(4, '0')}`)

export function createLog(level: LogLevel, write: (entry: LogEntry) => void): Log {
  const counts: Record<LogLevel, number> = { debug: 0, info: 0, warning: 0, error: 0 }
  let current = level
  let sequence = 0
  const at = (level: LogLevel) => (source: LogSource, message: string) => {
    counts[level]++
    if (SEVERITY[level] > SEVERITY[current]) return
    sequence++
    write({ level, source, message: `[${sequence}] ${escapeUnprintable(message)}` })
  }
  return {
    debug: at('debug'),
    info: at('info'),
    warning: at('warning'),
    error: at('error'),
    setLevel: (level) => {
      current = level
    },
    get level() {
      return current
    },
    counts,
  }
}

// Of what is written for unauthenticated clients: enough to see what they do, and little of what a disk or a network takes.
const SHARE_BURST = 200
const SHARE_PER_SECOND = 20

/** Lines that unauthenticated clients cause must not bury the others: they have a share, and one line counts those left out. */
interface LogShare {
  /** Where to write of one event, or nowhere. */
  lines(): Log | undefined
}

/** `nowMs` must never jump. */
export function createShare(log: Log, nowMs: () => number = () => performance.now()): LogShare {
  let left = SHARE_BURST
  let filledMs = nowMs()
  let skipped = 0
  return {
    lines() {
      left = Math.min(SHARE_BURST, left + ((nowMs() - filledMs) / 1000) * SHARE_PER_SECOND)
      filledMs = nowMs()
      if (left < 1) {
        skipped++
        return undefined
      }
      left--
      if (skipped > 0) log.info('access', `${skipped} requests without credentials were not logged here`)
      skipped = 0
      return log
    },
  }
}

let lines = ''
let timer: NodeJS.Timeout | undefined

const GATHER_MS = 100 // writing and reading a line by itself costs two processes more than a signature
const GATHER_MAX = 32_768 // characters: what the way to the boot manager holds at once

/**
 * One line per entry on standard output, which the boot manager passes on to the console. Lines that come close together
 * go out in one write, errors at once: the process may be about to end.
 */
export function writeToConsole({ level, source, message }: LogEntry): void {
  timer ??= setTimeout(flushConsole, GATHER_MS)
  lines += `${level.padEnd(7)} ${source}: ${message}\n`
  if (level === 'error' || lines.length >= GATHER_MAX) flushConsole()
}

function flushConsole(): void {
  if (lines !== '') process.stdout.write(lines)
  lines = ''
  clearTimeout(timer)
  timer = undefined
}

process.once('exit', flushConsole) // writing to a pipe is synchronous
