/** Sets of ordinals stored as runs: a channel read completely takes one run. */

import type { Runs } from '../../store/flags.ts'

export function hasOrdinal(runs: Runs, ordinal: number): boolean {
  const at = firstEndingAt(runs, ordinal)
  return at < runs.length && runs[at]![0] <= ordinal
}

/** Both ends are inclusive. */
export function addRun(runs: Runs, from: number, to: number): Runs {
  const begin = firstEndingAt(runs, from - 1)
  let end = begin
  let [low, high] = [from, to]
  for (; end < runs.length && runs[end]![0] <= to + 1; end++) {
    low = Math.min(low, runs[end]![0])
    high = Math.max(high, runs[end]![1])
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
  while (at < runs.length || next < others.length)
    yield next === others.length || (at < runs.length && runs[at]![0] <= others[next]![0])
      ? runs[at++]!
      : others[next++]!
}

export function difference(runs: Runs, others: Runs): Runs {
  const rest: [number, number][] = []
  let next = 0
  for (const [from, to] of runs) {
    let low = from
    while (next < others.length && others[next]![1] < from) next++
    for (let at = next; at < others.length && others[at]![0] <= to; at++) {
      if (others[at]![0] > low) rest.push([low, others[at]![0] - 1])
      low = Math.max(low, others[at]![1] + 1)
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
  for (let at = firstEndingAt(runs, from); at < runs.length && runs[at]![0] <= to; at++) {
    const [low, high] = runs[at]!
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
    if (runs[middle]![1] < ordinal) low = middle + 1
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
    if (numbers[middle]! < number) low = middle + 1
    else high = middle
  }
  return low
}
