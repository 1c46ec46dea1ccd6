/** Processor time of test runs, by which a share of the tests is compared with all of them. */

import { readFileSync } from 'node:fs'

const TICKS_PER_SECOND = 100 // USER_HZ on all architectures that Node runs on

/** User and system seconds of all descendants that have ended and were waited for: `cutime` and `cstime` of proc(5). */
export function secondsOfChildren(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ') // from the third one on
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND
}
