/** One thing that the timing test measures: an operation on two classes of secret inputs. */

import { randomInt } from 'node:crypto'
import type { Pool } from './inputs.ts'

export interface Subject {
  name: string
  leaks: boolean
  /** Time of one operation on an input of the class. */
  measure: (inputClass: 0 | 1) => number
}

/**
 * An input of either class is read and one of the two chosen by a mask, then it lies still for a while: where an input
 * was copied from shows as a part of a nanosecond, which 100,000 samples find.
 */
export function subject(
  name: string,
  pools: readonly [Pool, Pool],
  operation: (input: Uint8Array) => unknown,
): Subject {
  return preparedSubject(name, pools, (input) => input, operation)
}

/** `prepare` makes of the input what the operation works on, and is not timed. */
export function preparedSubject<T>(
  name: string,
  pools: readonly [Pool, Pool],
  prepare: (input: Uint8Array) => T,
  operation: (prepared: T) => unknown,
): Subject {
  const input = new Uint8Array(pools[0][0]!.length)
  return {
    name,
    leaks: false,
    measure: (inputClass) => {
      const choice = randomInt(pools[0].length)
      const [zero, one] = [pools[0][choice]!, pools[1][choice]!]
      for (let i = 0; i < input.length; i++) input[i] = zero[i]! ^ ((zero[i]! ^ one[i]!) & -inputClass)
      const prepared = prepare(input)
      pause()
      return time(() => operation(prepared))
    },
  }
}

const elsewhere = new Int32Array(8192)

function pause(): void {
  let sum = 1
  for (let i = 0; i < elsewhere.length; i++) sum += elsewhere[i]!
  elsewhere[0] = sum & 0
}

function time(operation: () => unknown): number {
  const start = performance.now()
  operation()
  return performance.now() - start
}
