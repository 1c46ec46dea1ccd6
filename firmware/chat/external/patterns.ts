/** Glob patterns for names of events: `*`, `?`, `[abc]`, `[!abc]`. Contract section 3.5.2. */

import { defined } from '../../base/defined.ts'

const PATTERNS_MAX = 100 // no service has as many events
const PATTERN_CHARACTERS_MAX = 100

export const arePatterns = (patterns: readonly string[]): boolean =>
  patterns.length <= PATTERNS_MAX && patterns.every((pattern) => pattern.length <= PATTERN_CHARACTERS_MAX)

export const matchesAny = (text: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => matches(text, pattern))

/** Time is the product of both lengths: only the last star is retried. */
function matches(text: string, pattern: string): boolean {
  const pieces = piecesOf(pattern)
  let at = 0
  let piece = 0
  let star = -1
  let retryAt = 0
  while (at < text.length) {
    const current = pieces[piece]
    if (current === 'any') {
      star = piece++
      retryAt = at
    } else if (current?.(defined(text[at]))) {
      at++
      piece++
    } else if (star >= 0) {
      piece = star + 1
      at = ++retryAt
    } else return false
  }
  return pieces.slice(piece).every((rest) => rest === 'any')
}

type Piece = 'any' | ((character: string) => boolean)

function piecesOf(pattern: string): Piece[] {
  const pieces: Piece[] = []
  for (let at = 0; at < pattern.length; at++) {
    const character = defined(pattern[at])
    // The first bracket may be a member of the set.
    const end = character === '[' ? pattern.indexOf(']', at + (pattern[at + 1] === '!' ? 3 : 2)) : -1
    if (character === '*') pieces.push('any')
    else if (character === '?') pieces.push(() => true)
    else if (end > 0) {
      pieces.push(setOf(pattern.slice(at + 1, end)))
      at = end
    } else pieces.push((other) => other === character)
  }
  return pieces
}

function setOf(text: string): (character: string) => boolean {
  const isNegated = text.startsWith('!')
  const members = isNegated ? text.slice(1) : text
  const ranges: [string, string][] = []
  for (let at = 0; at < members.length; at++) {
    const isRange = members[at + 1] === '-' && at + 2 < members.length
    ranges.push([defined(members[at]), defined(members[isRange ? at + 2 : at])])
    if (isRange) at += 2
  }
  return (character) => ranges.some(([first, last]) => first <= character && character <= last) !== isNegated
}
