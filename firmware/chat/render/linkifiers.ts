/**
 * Linkifiers: the organization's patterns that become links. Contract 2.5, 6.2. Patterns use RE2, which finds a match in linear time;
 * addresses are RFC 6570 templates.
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

/** Characters before a match. Neither a letter nor a digit may follow it. */
const BEFORE = `(^|\\s|\\x{85}|\\pZ|['"(,:<])`
const AFTER = '($|[^\\pL\\pN])'

export interface KnownPattern {
  groups: string[]
  /** Program size in instructions; matching time grows with it. */
  size: number
}

/** Throws an error whose message explains why the pattern is invalid. */
export function readPattern(pattern: string): KnownPattern {
  const compiled = RE2JS.compile(pattern)
  return { groups: Object.keys(compiled.namedGroups()), size: compiled.programSize() }
}

/** Expects a pattern that `readPattern` accepts. */
export const matchesWhole = (pattern: string, text: string): boolean => RE2JS.compile(pattern).matches(text)

/** In order of precedence. */
export type Linkifiers = readonly CompiledLinkifier[]

/**
 * Instructions times characters, for all linkifiers in one message: about half a second. Finding a match may scan the rest of its line, so
 * many short matches take quadratic time.
 */
const WORK_MAX = 20_000_000
const CHARACTERS_A_FIND = 8 // cost of starting a search

export class LinkifierWork {
  #left = WORK_MAX

  /** Returns false if the budget is exhausted; the rest stays text. */
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

  /** @throws an error whose message explains why a pattern or a template is invalid. */
  constructor({ pattern, urlTemplate }: LinkifierRule) {
    this.#expression = RE2JS.compile(`${BEFORE}(${pattern})${AFTER}`)
    this.#size = this.#expression.programSize()
    this.#names = Object.keys(this.#expression.namedGroups())
    this.#template = parseTemplate(urlTemplate)
  }

  /** Matches in order; none crosses a line break. `plain` converts a captured group to the text for the address. */
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
      // The package's types declare strings, but these are numbers.
      const [start, end] = [Number(matcher.start(2)), Number(matcher.end(2))]
      const values = Object.fromEntries(this.#names.map((name) => [name, plain(matcher.group(name) ?? '')]))
      const url = this.#template.expand(values)
      // Addresses that links may not have, such as `javascript:`, stay text. This applies to messages and topics.
      if (end > start && linkAddress(url) !== null)
        found.push({ start: at + start, end: at + end, text: line.slice(start, end), url })
      // The character that ends one match may begin the next.
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
