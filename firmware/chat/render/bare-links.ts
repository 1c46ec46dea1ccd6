/**
 * Links without markup: addresses with `http`, names that end in a top-level domain, email addresses. Contract 6.2. Such an address extends
 * to the end of its word, except for punctuation. Each word is therefore scanned once from its end, and the result decides every possible
 * start.
 */

import { isTopLevelDomain } from '../data/top-level-domains.ts'
import { element } from './element.ts'
import type { InlineMatches, Pattern } from './inline.ts'
import type { RenderSettings } from './names.ts'
import { WORD } from './patterns.ts'
import { linkAddress, relativeAddress } from './url.ts'

/** Bound on nested parentheses in an address, such as `Qt_(framework)`. */
const NESTED_PARENTHESES_MAX = 7

/** Possible starts of an address within a word. */
const starts = /(?:^|['"(,:<])(?=[\p{L}\p{N}_.-])/gu

const authority = new RegExp(`https?://((?:${WORD}|[.:@-])+)`, 'uy')
const name = new RegExp(`(?:${WORD}|[.-])+`, 'uy')
const lastLabelOfMail = new RegExp(`^(?:${WORD}|[.-])+\\.${WORD}+$`, 'u')
const bitcoin = /bitcoin:[13][a-km-zA-HJ-NP-Z1-9]{25,34}/y

export function bareLinks({ realmUrl }: RenderSettings): Pattern {
  return (source, found) => {
    if (!/[.:]/.test(source)) return source
    return source.replace(/\S+/g, (word) => linked(word, found, realmUrl))
  }
}

function linked(word: string, found: InlineMatches, realmUrl: string): string {
  if (!/[.:]/.test(word)) return word
  const place = addressIn(word)
  if (place === null) return word
  const typed = word.slice(place.start, place.end)
  const address = linkAddress(found.plain(typed))
  if (address === null) return word
  const link = element('a', { href: relativeAddress(address, realmUrl) }, typed)
  return word.slice(0, place.start) + found.take(link, typed) + word.slice(place.end)
}

/** The first address in a text without spaces. Offsets. */
export function addressIn(word: string): { start: number; end: number } | null {
  const tail = new Tail(word)
  for (const { index, 0: before } of word.matchAll(starts)) {
    const start = index + before.length
    const end = webEnd(word, start, tail) ?? mailEnd(word, start, tail) ?? bitcoinEnd(word, start, tail)
    if (end !== null) return { start, end }
  }
  return null
}

function webEnd(word: string, start: number, tail: Tail): number | null {
  authority.lastIndex = start
  const found = authority.exec(word)
  if (found !== null) {
    const end = found.index + found[0].length
    const shortest = Math.max(tail.start, end - found[1]!.length + firstCharacter(found[1]!))
    if (shortest <= end) return shortest
    if (word[end] === '/') return tail.pathEnd(end)
  }
  name.lastIndex = start
  const host = name.exec(word)?.[0]
  if (host === undefined) return null
  const end = start + host.length
  const bare = host.replace(/\.+$/, '')
  if (start + bare.length >= tail.start) return isHost(bare) ? start + bare.length : null
  return word[end] === '/' && isHost(host) ? tail.pathEnd(end) : null
}

function firstCharacter(text: string): number {
  return String.fromCodePoint(text.codePointAt(0)!).length
}

function isHost(text: string): boolean {
  const labels = text.split('.')
  return labels.length > 1 && !labels.includes('') && isTopLevelDomain(labels.at(-1)!)
}

function mailEnd(word: string, start: number, tail: Tail): number | null {
  name.lastIndex = start
  const local = name.exec(word)?.[0]
  if (local === undefined || word[start + local.length] !== '@') return null
  name.lastIndex = start + local.length + 1
  const host = name.exec(word)?.[0].replace(/\.+$/, '')
  if (host === undefined || !lastLabelOfMail.test(host)) return null
  const end = start + local.length + 1 + host.length
  return end >= tail.start ? end : null
}

function bitcoinEnd(word: string, start: number, tail: Tail): number | null {
  bitcoin.lastIndex = start
  const found = bitcoin.exec(word)
  return found !== null && bitcoin.lastIndex >= tail.start ? bitcoin.lastIndex : null
}

/** The end of a word: its closing punctuation, and the nesting of parentheses before it. */
class Tail {
  readonly start: number
  readonly #word: string
  #depths: Depths | null = null

  constructor(word: string) {
    this.#word = word
    let start = word.length
    while (start > 0 && '!:;?),.\'">'.includes(word[start - 1]!)) start -= 1
    this.start = start
  }

  /** Returns the end of a path that begins at `slash`: the earliest offset that closes its parentheses. */
  pathEnd(slash: number): number | null {
    this.#depths ??= this.#count()
    const { depth, lowest, highest, quote, closed, tailQuote } = this.#depths
    const level = depth[slash]!
    if (quote >= slash || lowest[slash]! < level || highest[slash]! - level > NESTED_PARENTHESES_MAX) return null
    const end = closed.get(level)
    return end === undefined || (tailQuote >= 0 && tailQuote < end) ? null : end
  }

  /** Computes the parenthesis depth before each character, its minimum and maximum from there to the tail, and the last quote. */
  #count(): Depths {
    const word = this.#word
    const depth = [0]
    for (let index = 0; index < word.length; index += 1)
      depth.push(depth[index]! + (word[index] === '(' ? 1 : word[index] === ')' ? -1 : 0))
    const lowest = depth.slice(0, this.start + 1)
    const highest = depth.slice(0, this.start + 1)
    for (let index = this.start - 1; index >= 0; index -= 1) {
      lowest[index] = Math.min(lowest[index]!, lowest[index + 1]!)
      highest[index] = Math.max(highest[index]!, highest[index + 1]!)
    }
    const closed = new Map<number, number>()
    for (let end = word.length; end >= this.start; end -= 1) closed.set(depth[end]!, end)
    const quote = this.start === 0 ? -1 : word.lastIndexOf('"', this.start - 1)
    return { depth, lowest, highest, quote, closed, tailQuote: word.indexOf('"', this.start) }
  }
}

interface Depths {
  depth: number[]
  lowest: number[]
  highest: number[]
  quote: number
  /** The first offset in the tail at which each depth is reached. */
  closed: Map<number, number>
  /** The first quotation mark in the tail; -1 for none. */
  tailQuote: number
}
