/** Last stage: adds line breaks between blocks as Zulip does, and serializes the tree, escaping everything. */

import type { Element } from './element.ts'

/** Zulip's bound, a hundred times the longest message. It keeps clients from freezing on one message. */
export const HTML_CHARACTERS_MAX = 1_000_000

const BLOCKS = new Set('blockquote div h1 h2 h3 h4 h5 h6 hr li ol p pre table tbody td th thead tr ul'.split(' '))

const VOID = new Set(['br', 'hr', 'img'])

/** Thrown if the HTML would be longer than HTML_CHARACTERS_MAX. */
export class RenderedTooLong extends Error {
  constructor() {
    super(`The text gives more than ${HTML_CHARACTERS_MAX} characters of HTML`)
  }
}

/** Adds line breaks after and at the start of blocks, and after `<br>`. */
export function layOut(node: Element): void {
  if (isSpoilerPart(node)) {
    layOutSpoilerPart(node)
    return
  }
  if (BLOCKS.has(node.tag) && node.html === undefined) {
    const [first] = node.children
    if (node.text.trim() === '' && first !== undefined && BLOCKS.has(first.tag)) node.text = '\n'
    for (const child of node.children) if (BLOCKS.has(child.tag)) layOut(child)
  }
  if (node.tail.trim() === '') node.tail = '\n'
  breakLines(node)
}

/** A spoiler and its two parts have no line breaks between them, and one before their content. */
function layOutSpoilerPart(node: Element): void {
  const isWhole = node.attributes.class === 'spoiler-block'
  for (const child of node.children) layOut(child)
  node.text = isWhole ? '' : '\n'
  node.tail = isWhole ? '\n' : ''
}

function isSpoilerPart(node: Element): boolean {
  return node.attributes.class?.startsWith('spoiler-') ?? false
}

function breakLines(node: Element): void {
  for (const child of node.children) {
    if (child.tag === 'br') child.tail = child.tail.trim() === '' ? '\n' : `\n${child.tail}`
    else if (!BLOCKS.has(child.tag)) breakLines(child)
  }
}

/** @throws RenderedTooLong */
export function serialize(root: Element): string {
  const writer = new Writer()
  writer.text(root.text)
  for (const child of root.children) writer.element(child)
  return writer.html().trim()
}

class Writer {
  readonly #parts: string[] = []
  #length = 0

  html(): string {
    return this.#parts.join('')
  }

  text(text: string): void {
    if (text !== '') this.#write(escapeText(text))
  }

  element(node: Element): void {
    if (node.html !== undefined) this.#write(node.html)
    else if (node.tag === '') this.text(node.text)
    else {
      const attributes = Object.entries(node.attributes).map(([name, value]) =>
        name === value ? ` ${name}` : ` ${name}="${escapeText(value).replaceAll('"', '&quot;')}"`,
      )
      this.#write(`<${node.tag}${attributes.join('')}>`)
      this.text(node.text)
      for (const child of node.children) this.element(child)
      if (!VOID.has(node.tag)) this.#write(`</${node.tag}>`)
    }
    this.text(node.tail)
  }

  #write(part: string): void {
    this.#length += part.length
    if (this.#length > HTML_CHARACTERS_MAX) throw new RenderedTooLong()
    this.#parts.push(part)
  }
}

/** Entities in the source remain entities, as in Zulip. */
export function escapeText(text: string): string {
  return text
    .replace(/&(?!(?:#[0-9]+|#x[0-9a-f]+|[0-9a-z]+);)/gi, '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
}
