/** Parses searches, and finds and highlights their matches in a text. Contract section 5.2, `search`. */

import { defined } from '../../base/defined.ts'
import { isUnspaced, type Word, wordsOf, wordsOfHtml } from './words.ts'

const PREFIX_CHARACTERS_MIN = 3 // shorter prefixes would match nearly everything
const PARTS_MAX = 50 // of one search; the rest is ignored

/** A word of marks only, such as the selector that makes a sign an emoji, is nothing that people search for. */
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u

export interface Phrase {
  words: readonly string[]
  /** True if the last word matches as a prefix. */
  isPrefix: boolean
}

/** Every phrase must match. An empty search matches nothing. */
export type Search = readonly Phrase[]

/** Splits at spaces; quotation marks enclose phrases. Empty if the operand has no words, such as punctuation only. */
export function readSearch(operand: string): Search {
  const parts: Phrase[] = []
  for (const [, phrase, loose] of operand.matchAll(/"([^"]*)"|([^\s"]+)/g)) {
    const words = (phrase ?? loose ?? '') === '' ? [] : searchedWords(phrase ?? loose ?? '')
    if (!words.some((word) => LETTER_OR_DIGIT.test(word))) continue
    const last = defined(words.at(-1))
    parts.push({ words, isPrefix: isUnspaced(last) || (phrase === undefined && last.length >= PREFIX_CHARACTERS_MIN) })
    if (parts.length === PARTS_MAX) break
  }
  return parts
}

/** Drops the final single character of unspaced text: the pair before it contains it, and in a message another character may follow. */
function searchedWords(text: string): string[] {
  const words = wordsOf(text)
  const [before, last] = words.slice(-2)
  if (last !== undefined && isUnspaced(last.text) && before?.to === last.to) words.pop()
  return words.map((word) => word.text)
}

/** True if each phrase occurs in the topic or in the content. `html`: the rendered content. */
export function isFound(search: Search, topic: string, html: string): boolean {
  if (search.length === 0) return false
  const [mayHtmlHave, mayTopicHave] = [quickLook(html), quickLook(topic)]
  if (!search.every((part) => mayHtmlHave(part) || mayTopicHave(part))) return false
  const ofHtml = wordsOfHtml(html)
  const missing = search.filter((part) => !isAmong(part, ofHtml))
  if (missing.length === 0) return true
  const ofTopic = wordsOf(topic)
  return missing.every((part) => isAmong(part, ofTopic))
}

const isAmong = (part: Phrase, words: readonly Word[]): boolean => occurrences(part, words).next().done === false

/** Quick test whether a phrase may occur. In ASCII text, which is the usual case, every word must occur literally. */
function quickLook(text: string): (part: Phrase) => boolean {
  if (!ASCII.test(text)) return () => true
  const lower = text.toLowerCase()
  return ({ words }) => words.every((word) => lower.includes(word))
}

const ASCII = /^[\t\n -~]*$/

export function highlight(search: Search, html: string): string {
  if (!search.some(quickLook(html))) return html
  const words = wordsOfHtml(html)
  const found = new Set<Word>()
  for (const part of search) for (const at of occurrences(part, words)) for (const word of at) found.add(word)
  let result = ''
  let copied = 0
  for (const { from, to } of merged(words.filter((word) => found.has(word)))) {
    result += `${html.slice(copied, from)}<span class="highlight">${html.slice(from, to)}</span>`
    copied = to
  }
  return result + html.slice(copied)
}

function* occurrences({ words, isPrefix }: Phrase, text: readonly Word[]): Generator<readonly Word[], void> {
  const last = words.length - 1
  for (let start = 0; start + last < text.length; start++) {
    const isHere = words.every((word, index) => {
      const there = text[start + index]?.text
      return there === word || (isPrefix && index === last && there?.startsWith(word) === true)
    })
    if (isHere) yield text.slice(start, start + words.length)
  }
}

/** Merges overlapping ranges: pairs of characters overlap. */
function merged(words: readonly Word[]): { from: number; to: number }[] {
  const ranges: { from: number; to: number }[] = []
  for (const { from, to } of words) {
    const before = ranges.at(-1)
    if (before !== undefined && from < before.to) before.to = Math.max(before.to, to)
    else ranges.push({ from, to })
  }
  return ranges
}
