/**
 * Linkifiers: patterns of an organisation that become links. Contract 2.5, 6.2. Patterns are RE2's, which take linear
 * time for every text; addresses are templates by RFC 6570.
 */

import { RE2JS } from 're2js'
import { parseTemplate, type Template } from 'url-template'
import { element } from './element.ts'
import type { Pattern } from './inline.ts'
import { linkAddress, relativeAddress } from './url.ts'

export interface Linkifier {
  pattern: string
  urlTemplate: string
}

export interface LinkifierMatch {
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

/** The linkifiers of an organisation in their order. */
export type Linkifiers = readonly CompiledLinkifier[]

export class CompiledLinkifier {
  readonly #expression: RE2JS
  readonly #names: string[]
  readonly #template: Template

  /** @throws what says why a pattern or a template cannot be read. */
  constructor({ pattern, urlTemplate }: Linkifier) {
    this.#expression = RE2JS.compile(`${BEFORE}(${pattern})${AFTER}`)
    this.#names = Object.keys(this.#expression.namedGroups())
    this.#template = parseTemplate(urlTemplate)
  }

  matches(text: string): LinkifierMatch[] {
    const found: LinkifierMatch[] = []
    const matcher = this.#expression.matcher(text)
    let from = 0
    while (from <= text.length && matcher.find(from)) {
      // The package's types call these strings; they are numbers.
      const [start, end] = [Number(matcher.start(2)), Number(matcher.end(2))]
      const values = Object.fromEntries(this.#names.map((name) => [name, matcher.group(name) ?? '']))
      if (end > start) found.push({ start, end, text: text.slice(start, end), url: this.#template.expand(values) })
      // What ended one match may begin the next.
      from = Math.max(end, Number(matcher.start(0)) + 1)
    }
    return found
  }
}

export function linkified(linkifier: CompiledLinkifier, realmUrl: string): Pattern {
  return (source, found) => {
    let result = ''
    let end = 0
    for (const match of linkifier.matches(source)) {
      const address = linkAddress(match.url)
      if (address === null) continue
      const link = element('a', { href: relativeAddress(address, realmUrl) }, match.text)
      result += source.slice(end, match.start) + found.take(link)
      end = match.end
    }
    return result + source.slice(end)
  }
}
