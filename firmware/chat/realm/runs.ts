/** Sets of ordinals as runs: who reads a channel to its end has one run. Design 6. */

import type { Runs } from '../store/flags.ts'

export function hasOrdinal(runs: Runs, ordinal: number): boolean {
  const at = firstEndingAt(runs, ordinal)
  return at < runs.length && runs[at]![0] <= ordinal
}

/** Both ends included. */
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

export function removeRun(runs: Runs, from: number, to: number): Runs {
  const begin = firstEndingAt(runs, from)
  const rest: [number, number][] = []
  let end = begin
  for (; end < runs.length && runs[end]![0] <= to; end++) {
    const [low, high] = runs[end]!
    if (low < from) rest.push([low, from - 1])
    if (high > to) rest.push([to + 1, high])
  }
  return [...runs.slice(0, begin), ...rest, ...runs.slice(end)]
}

/** `ordinals` are ascending, each once. */
export function addOrdinals(runs: Runs, ordinals: readonly number[]): Runs {
  const all: [number, number][] = []
  let at = 0
  const add = (from: number, to: number): void => {
    const last = all.at(-1)
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else all.push([from, to])
  }
  for (const ordinal of ordinals) {
    for (; at < runs.length && runs[at]![0] <= ordinal; at++) add(...runs[at]!)
    add(ordinal, ordinal)
  }
  for (; at < runs.length; at++) add(...runs[at]!)
  return all
}

/** `ordinals` are ascending, each once. */
export function removeOrdinals(runs: Runs, ordinals: readonly number[]): Runs {
  const rest: [number, number][] = []
  let next = 0
  for (const [from, to] of runs) {
    let low = from
    while (next < ordinals.length && ordinals[next]! < from) next++
    for (; next < ordinals.length && ordinals[next]! <= to; next++) {
      if (ordinals[next]! > low) rest.push([low, ordinals[next]! - 1])
      low = ordinals[next]! + 1
    }
    if (low <= to) rest.push([low, to])
  }
  return rest
}

/** What of from..to is not in the runs, ascending. */
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

/** Index of the first run that does not end before `ordinal`. */
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

/** Index of the first of ascending numbers that is not less than `number`. */
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
