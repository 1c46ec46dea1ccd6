/**
 * Third stage: inline markup. Contract 6.2. Patterns run in a fixed order, each once over the whole text. A match is replaced by a marker.
 * Only later patterns see the text inside a match, and only if it contains text at all.
 */

import { type Element, element, textOf } from './element.ts'
import { inlineMarker, splitAtMarkers } from './markers.ts'

export type Pattern = (source: string, found: InlineMatches) => string

export class InlineMatches {
  readonly #patterns: readonly Pattern[]
  readonly #taken: { node: Element; typed: string }[] = []
  #running = 0

  constructor(patterns: readonly Pattern[]) {
    this.#patterns = patterns
  }

  /** Stores an element with its source, and returns a marker. No pattern looks at its text again. */
  take(node: Element, typed: string): string {
    this.#taken.push({ node, typed })
    return inlineMarker(this.#taken.length - 1)
  }

  /** Runs the remaining patterns on the text of a future element. */
  later(source: string): string {
    return this.#run(source, this.#running + 1)
  }

  /** Replaces markers by the text of their elements. Used for addresses. */
  plain(source: string): string {
    return splitAtMarkers(source)
      .map((part, index) => (index % 2 === 0 ? part : this.plain(textOf(this.#taken[Number(part)]!.node))))
      .join('')
  }

  /** Replaces markers by their source. Used for names, in which Markdown has no meaning. */
  typed(source: string): string {
    return splitAtMarkers(source)
      .map((part, index) => (index % 2 === 0 ? part : this.typed(this.#taken[Number(part)]!.typed)))
      .join('')
  }

  /** Parses a source into `into`. New elements precede its existing children. */
  fill(into: Element, source: string): void {
    const { text, nodes } = this.#parse(source)
    into.text = text
    into.children.unshift(...nodes)
  }

  fillTree(node: Element): void {
    if (node.html !== undefined) return
    const children: Element[] = []
    for (const child of node.children) {
      this.fillTree(child)
      children.push(child)
      if (child.tail === '') continue
      const { text, nodes } = this.#parse(this.#run(child.tail, 0))
      child.tail = text
      for (const next of nodes) children.push(next)
    }
    const { text, nodes } = this.#parse(this.#run(node.text, 0))
    node.text = text
    node.children = nodes.length === 0 ? children : [...nodes, ...children]
  }

  #run(source: string, from: number): string {
    const outer = this.#running
    let text = source
    for (let index = from; index < this.#patterns.length && text !== ''; index += 1) {
      this.#running = index
      text = this.#patterns[index]!(text, this)
    }
    this.#running = outer
    return text
  }

  #parse(source: string): { text: string; nodes: Element[] } {
    const [text, ...rest] = splitAtMarkers(source)
    const nodes: Element[] = []
    for (let index = 0; index < rest.length; index += 2) {
      const { node } = this.#taken[Number(rest[index])]!
      node.tail = rest[index + 1]!
      for (const child of [node, ...node.children]) if (child.html === undefined) this.fill(child, child.text)
      nodes.push(node)
    }
    return { text: text!, nodes }
  }
}

/** A pattern made from a regular expression with the flag `g`. A match stays text if `make` returns null. */
export function pattern(
  expression: RegExp,
  needs: string,
  make: (match: RegExpExecArray, found: InlineMatches) => Element | null,
): Pattern {
  return (source, found) => {
    if (!source.includes(needs)) return source
    let result = ''
    let end = 0
    for (const match of source.matchAll(expression)) {
      const node = make(match, found)
      if (node === null) continue
      result += source.slice(end, match.index) + found.take(node, match[0])
      end = match.index + match[0].length
    }
    return end === 0 && result === '' ? source : result + source.slice(end)
  }
}

/** An element whose text later patterns process. */
export function around(tag: string): (match: RegExpExecArray, found: InlineMatches) => Element {
  return ([, text], found) => element(tag, {}, found.later(text!))
}
