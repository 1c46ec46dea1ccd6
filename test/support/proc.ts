/** What Linux says of running processes: proc(5). */

import { readFileSync } from 'node:fs'

export const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)

/** A process, its children and theirs. */
export const familyOf = (pid: number): number[] => [pid, ...childrenOf(pid).flatMap(familyOf)]

/** Arguments with a NUL after each; empty when the process has ended. */
export function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

export const residentBytes = (pid: number): number =>
  Number(/^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
