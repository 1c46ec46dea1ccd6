/** Code spans between runs of backticks. Contract 6.2. */

import { element } from './element.ts'
import type { InlineMatches } from './inline.ts'

/**
 * The closing run must be complete, while the opening run may be longer; the longest possible closing run counts. A backtick after an odd
 * number of backslashes is literal. After an even number, half of the backslashes are shown.
 */
export function codeSpans(source: string, found: InlineMatches): string {
  if (!source.includes('`')) return source
  const runs = [...source.matchAll(/`+/g)].map(({ 0: run, index }) => ({ start: index, length: run.length }))
  const closing = runsByLength(runs)
  let result = ''
  let end = 0
  for (const { start, length } of runs) {
    if (start < end) continue
    const slashes = backslashesBefore(source, end, start)
    const from = slashes % 2 === 0 ? start : start + 1
    result += source.slice(end, start - slashes) + '\\'.repeat(slashes % 2 === 0 ? slashes / 2 : slashes)
    end = start
    let open = from === start ? length : length - 1
    let close: number | undefined
    for (; open > 0 && close === undefined; open -= 1) close = nextAfter(closing.get(open), start)
    if (close === undefined) continue
    open += 1
    const code = element('code', {}, source.slice(from + open, close).replaceAll('&', '&amp;'))
    end = close + open
    result += source.slice(start, from) + found.take(code, source.slice(from, end))
  }
  return result + source.slice(end)
}

function runsByLength(runs: { start: number; length: number }[]): Map<number, number[]> {
  const starts = new Map<number, number[]>()
  for (const { start, length } of runs.toReversed()) {
    const same = starts.get(length)
    if (same === undefined) starts.set(length, [start])
    else same.push(start)
  }
  return starts
}

/** Removes offsets up to `position`: callers advance through the text. */
function nextAfter(starts: number[] | undefined, position: number): number | undefined {
  while (starts !== undefined && starts.length > 0 && starts.at(-1)! <= position) starts.pop()
  return starts?.at(-1)
}

function backslashesBefore(source: string, from: number, position: number): number {
  let start = position
  while (start > from && source[start - 1] === '\\') start -= 1
  return position - start
}
