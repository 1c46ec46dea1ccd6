/**
 * Linkifiers: patterns of an organisation that become links. Contract 2.5, 6.2. Patterns are RE2's, which find one match in
 * linear time in every text; addresses are templates by RFC 6570.
 */

import { RE2JS } from 're2js'
import { parseTemplate, type Template } from 'url-template'
import { element } from './element.ts'
import type { Pattern } from './inline.ts'
import { linkAddress, relativeAddress } from './url.ts'

interface LinkifierRule {
  pattern: string
  urlTemplate: string
}

interface LinkifierMatch {
  start: number
  end: number
  text: string
  url: string
}

/** What may stand before a match; after it stands neither a letter nor a digit. */
const BEFORE = `(^|\\s|\\x{85}|\\pZ|['"(,:<])`
const AFTER = '($|[^\\pL\\pN])'

export interface KnownPattern {
  groups: string[]
  /** In instructions: what a text costs grows with it. */
  size: number
}

/** Throws what says why it is no pattern. */
export function readPattern(pattern: string): KnownPattern {
  const compiled = RE2JS.compile(pattern)
  return { groups: Object.keys(compiled.namedGroups()), size: compiled.programSize() }
}

/** `pattern` is one that `readPattern` has read. */
export const matchesWhole = (pattern: string, text: string): boolean => RE2JS.compile(pattern).matches(text)

/** The linkifiers of an organisation in their order. */
export type Linkifiers = readonly CompiledLinkifier[]

/**
 * In instructions times characters, for all linkifiers and one message: some half a second. To find a match may take a look at
 * all that is left of its line, also where the match is a single character, so many of them take the square of it.
 */
const WORK_MAX = 20_000_000
const CHARACTERS_A_FIND = 8 // what it takes to begin

export class LinkifierWork {
  #left = WORK_MAX

  /** False: it would be too much, and what is left stays text. */
  take(instructions: number, characters: number): boolean {
    this.#left -= instructions * (characters + CHARACTERS_A_FIND)
    return this.#left >= 0
  }
}

export class CompiledLinkifier {
  readonly #expression: RE2JS
  readonly #size: number
  readonly #names: string[]
  readonly #template: Template

  /** @throws what says why a pattern or a template cannot be read. */
  constructor({ pattern, urlTemplate }: LinkifierRule) {
    this.#expression = RE2JS.compile(`${BEFORE}(${pattern})${AFTER}`)
    this.#size = this.#expression.programSize()
    this.#names = Object.keys(this.#expression.namedGroups())
    this.#template = parseTemplate(urlTemplate)
  }

  /** In order; none goes on in another line. `plain` makes of a part of the text what an address has of it. */
  matches(text: string, work = new LinkifierWork(), plain = (part: string): string => part): LinkifierMatch[] {
    const found: LinkifierMatch[] = []
    if (!work.take(this.#size, text.length) || !this.#expression.matcher(text).find()) return found
    let at = 0
    for (const line of text.split('\n')) {
      this.#matchesIn(line, at, work, plain, found)
      at += line.length + 1
    }
    return found
  }

  #matchesIn(
    line: string,
    at: number,
    work: LinkifierWork,
    plain: (part: string) => string,
    found: LinkifierMatch[],
  ): void {
    const matcher = this.#expression.matcher(line)
    let from = 0
    while (from < line.length && work.take(this.#size, line.length - from) && matcher.find(from)) {
      // The package's types call these strings; they are numbers.
      const [start, end] = [Number(matcher.start(2)), Number(matcher.end(2))]
      const values = Object.fromEntries(this.#names.map((name) => [name, plain(matcher.group(name) ?? '')]))
      const url = this.#template.expand(values)
      // Of messages and of topics: an address that no link may have, such as `javascript:`, stays text.
      if (end > start && linkAddress(url) !== null)
        found.push({ start: at + start, end: at + end, text: line.slice(start, end), url })
      // What ended one match may begin the next.
      from = Math.max(end, Number(matcher.start(0)) + 1)
    }
  }
}

export function linkified(linkifier: CompiledLinkifier, realmUrl: string, work: LinkifierWork): Pattern {
  return (source, found) => {
    let result = ''
    let end = 0
    for (const match of linkifier.matches(source, work, (part) => found.plain(part))) {
      const address = linkAddress(match.url)
      if (address === null) continue
      const link = element('a', { href: relativeAddress(address, realmUrl) }, match.text)
      result += source.slice(end, match.start) + found.take(link, match.text)
      end = match.end
    }
    return result + source.slice(end)
  }
}
