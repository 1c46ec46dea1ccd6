/** `[text](address)` and `![text](address)`: brackets nest, and a quoted title may follow the address. Contract 6.2. */

import { type Element, element } from './element.ts'
import type { InlineMatches, Pattern } from './inline.ts'
import type { RenderSettings } from './names.ts'
import { linkAddress, relativeAddress } from './url.ts'

export type ImageOf = (address: string, text: string) => Element | null

export function links({ realmUrl }: RenderSettings, imageOf: ImageOf): Pattern {
  return (source, found) => {
    if (!source.includes('](')) return source
    const reader = new LinkReader(source)
    let result = ''
    let end = 0
    for (let at = source.indexOf('['); at >= 0; at = source.indexOf('[', Math.max(end, at + 1))) {
      const isImage = source[at - 1] === '!'
      const parts = reader.at(at)
      if (parts === null) continue
      const node = isImage ? imageNode(parts, found, realmUrl, imageOf) : linkNode(parts, found, realmUrl)
      if (node === null) continue
      const start = isImage ? at - 1 : at
      result += source.slice(end, start) + found.take(node, source.slice(start, parts.end))
      end = parts.end
    }
    return result + source.slice(end)
  }
}

function linkNode({ text, href, title }: Parts, found: InlineMatches, realmUrl: string): Element | null {
  const address = linkAddress(found.plain(href).trim())
  if (address === null) return null
  const relative = relativeAddress(address, realmUrl)
  const titled = title === null ? {} : { title: found.plain(title).trim().replace(/\s/g, ' ') }
  return element('a', { href: relative, ...titled }, text.trim() === '' ? relative : text)
}

function imageNode({ text, href }: Parts, found: InlineMatches, realmUrl: string, imageOf: ImageOf): Element | null {
  const address = linkAddress(found.plain(href).trim())
  return address === null ? null : imageOf(relativeAddress(address, realmUrl), found.plain(text))
}

interface Parts {
  text: string
  href: string
  title: string | null
  end: number
}

/** Parses the links of one source. Brackets and quotes are matched once, so that many unfinished links cost no more. */
class LinkReader {
  readonly #source: string
  readonly #brackets: Map<number, number>
  readonly #parentheses: Map<number, number>
  /** Quotes that are followed by a parenthesis, apart from spaces. */
  readonly #closings: Record<string, { quote: number; parenthesis: number }[]> = { '"': [], "'": [] }

  constructor(source: string) {
    this.#source = source
    this.#brackets = pairs(source, '[', ']')
    this.#parentheses = pairs(source, '(', ')')
    for (const { index, 1: quote } of source.matchAll(/(["']) *\)/g))
      this.#closings[quote!]!.push({ quote: index, parenthesis: source.indexOf(')', index) })
  }

  at(bracket: number): Parts | null {
    const close = this.#brackets.get(bracket)
    if (close === undefined || this.#source[close + 1] !== '(') return null
    const text = this.#source.slice(bracket + 1, close)
    const target = this.#inAngles(close + 1) ?? this.#target(close + 1)
    return target === null ? null : { text, ...target }
  }

  /** Parses `(<address> "title")`. */
  #inAngles(open: number) {
    const expression = /\(\s*<([^<>]*)>\s*(?:'([^']*)'\s*|"([^"]*)"\s*)?\)/y
    expression.lastIndex = open
    const found = expression.exec(this.#source)
    if (found === null) return null
    return { href: found[1]!, title: found[2] ?? found[3] ?? null, end: expression.lastIndex }
  }

  #target(open: number): Omit<Parts, 'text'> | null {
    const source = this.#source
    const close = this.#parentheses.get(open)
    const quotes = /["']/g
    quotes.lastIndex = open
    const first = quotes.exec(source)
    if (first !== null && (close === undefined || first.index < close)) {
      const titled = this.#title(open, first.index, first[0])
      if (titled !== null) return titled
    }
    return close === undefined ? null : { href: source.slice(open + 1, close), title: null, end: close + 1 }
  }

  /** A title begins at the first quote, or at the first of the other kind after it, and ends at a quote before a parenthesis. */
  #title(open: number, quote: number, mark: string): Omit<Parts, 'text'> | null {
    const other = this.#source.indexOf(mark === '"' ? "'" : '"', quote)
    const ends = [this.#closing(mark, quote)]
    if (other >= 0) ends.push(this.#closing(mark === '"' ? "'" : '"', other))
    const [main, alternative] = ends
    const useMain = main != null && (alternative == null || main.parenthesis < alternative.parenthesis)
    const end = useMain ? main : alternative
    if (end == null) return null
    const start = useMain ? quote : other
    return {
      href: this.#source.slice(open + 1, start),
      title: this.#source.slice(start + 1, end.quote),
      end: end.parenthesis + 1,
    }
  }

  #closing(mark: string, after: number) {
    const closings = this.#closings[mark]!
    let low = 0
    let high = closings.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (closings[middle]!.quote > after) high = middle
      else low = middle + 1
    }
    return closings[low]
  }
}

function pairs(source: string, open: string, close: string): Map<number, number> {
  const found = new Map<number, number>()
  const waiting: number[] = []
  for (let index = 0; index < source.length; index += 1) {
    if (source[index] === open) waiting.push(index)
    else if (source[index] === close && waiting.length > 0) found.set(waiting.pop()!, index)
  }
  return found
}
