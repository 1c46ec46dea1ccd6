/** Sets of ordinals stored as runs: a channel read completely takes one run. */

import type { Runs } from '../../store/flags.ts'

export function hasOrdinal(runs: Runs, ordinal: number): boolean {
  const run = runs[firstEndingAt(runs, ordinal)]
  return run !== undefined && run[0] <= ordinal
}

/** Both ends are inclusive. */
export function addRun(runs: Runs, from: number, to: number): Runs {
  const begin = firstEndingAt(runs, from - 1)
  let end = begin
  let [low, high] = [from, to]
  for (let run = runs[end]; run !== undefined && run[0] <= to + 1; run = runs[++end]) {
    low = Math.min(low, run[0])
    high = Math.max(high, run[1])
  }
  return [...runs.slice(0, begin), [low, high], ...runs.slice(end)]
}

export function union(runs: Runs, others: Runs): Runs {
  const all: [number, number][] = []
  for (const [from, to] of inOrder(runs, others)) {
    const last = all.at(-1)
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else all.push([from, to])
  }
  return all
}

function* inOrder(runs: Runs, others: Runs): Generator<readonly [from: number, to: number]> {
  let [at, next] = [0, 0]
  for (;;) {
    const [run, other] = [runs[at], others[next]]
    if (run !== undefined && (other === undefined || run[0] <= other[0])) {
      at++
      yield run
    } else if (other !== undefined) {
      next++
      yield other
    } else return
  }
}

export function difference(runs: Runs, others: Runs): Runs {
  const rest: [number, number][] = []
  let next = 0
  for (const [from, to] of runs) {
    let low = from
    while ((others[next]?.[1] ?? from) < from) next++
    for (let at = next, other = others[at]; other !== undefined && other[0] <= to; other = others[++at]) {
      if (other[0] > low) rest.push([low, other[0] - 1])
      low = Math.max(low, other[1] + 1)
    }
    if (low <= to) rest.push([low, to])
  }
  return rest
}

/** `ordinals` must be ascending without duplicates. */
export function runsOf(ordinals: readonly number[]): Runs {
  const runs: [number, number][] = []
  for (const ordinal of ordinals) {
    const last = runs.at(-1)
    if (last !== undefined && last[1] + 1 === ordinal) last[1] = ordinal
    else runs.push([ordinal, ordinal])
  }
  return runs
}

/** The parts of from..to that are not in `runs`, ascending. */
export function gaps(runs: Runs, from: number, to: number): Runs {
  const found: [number, number][] = []
  let next = from
  for (let at = firstEndingAt(runs, from); ; at++) {
    const [low, high] = runs[at] ?? [to + 1, to]
    if (low > to) break
    if (low > next) found.push([next, low - 1])
    next = high + 1
  }
  if (next <= to) found.push([next, to])
  return found
}

/** Index of the first run that ends at `ordinal` or later. */
function firstEndingAt(runs: Runs, ordinal: number): number {
  let low = 0
  let high = runs.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((runs[middle]?.[1] ?? ordinal) < ordinal) low = middle + 1
    else high = middle
  }
  return low
}

/** Index of the first number that is at least `number`. `numbers` must be ascending. */
export function lowerBound(numbers: readonly number[], number: number): number {
  let low = 0
  let high = numbers.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle] ?? number) < number) low = middle + 1
    else high = middle
  }
  return low
}
