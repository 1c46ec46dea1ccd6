/** Converts lines of etcd's JSON log to the form of Coffer's log, and limits their rate. */

import { printable } from '../../firmware/base/printable.ts'

const LINES_PER_SECOND = 10
const BURST_LINES = 100
const CHARACTERS_MAX = 1000
const LEVELS: ReadonlyMap<unknown, string> = new Map([
  ['debug', 'debug'],
  ['info', 'info'],
  ['warn', 'warning'],
])
/** Members of every line that are not shown. */
const PASSED_OVER = new Set(['level', 'ts', 'caller', 'msg', 'stacktrace'])

/** Returns the converted lines within the rate. `nowMs` must be monotonic. */
export function createEtcdLines(nowMs: () => number = () => performance.now()): (lines: string[]) => string[] {
  let credit = BURST_LINES
  let creditAtMs = nowMs()
  let leftOut = 0
  return (lines) => {
    const atMs = nowMs()
    credit = Math.min(BURST_LINES, credit + ((atMs - creditAtMs) * LINES_PER_SECOND) / 1000)
    creditAtMs = atMs
    const taken: string[] = []
    for (const line of lines) {
      if (credit < 1) {
        leftOut++
        continue
      }
      credit--
      if (leftOut > 0) taken.push(entry('warning', `${leftOut} lines were left out here`))
      leftOut = 0
      taken.push(readLine(line))
    }
    return taken
  }
}

/** The decoded JSON may contain control characters. */
const entry = (level: string, text: string): string =>
  `${level.padEnd(7)} etcd: ${printable(text.length > CHARACTERS_MAX ? `${text.slice(0, CHARACTERS_MAX)}...` : text)}`

/** Lines that are not JSON, such as a Go panic, become warnings. */
function readLine(line: string): string {
  try {
    const value: unknown = JSON.parse(line)
    if (typeof value === 'object' && value !== null) return readMembers(value as Record<string, unknown>)
  } catch {} // not JSON, or nested too deeply for the stack
  return entry('warning', line)
}

function readMembers(members: Record<string, unknown>): string {
  const told = Object.entries(members)
    .filter(([name]) => !PASSED_OVER.has(name))
    .map(([name, value]) => `${name}: ${textOf(value)}`)
  const details = told.length === 0 ? '' : ` (${told.join(', ')})`
  return entry(LEVELS.get(members.level) ?? 'error', `${textOf(members.msg)}${details}`)
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
