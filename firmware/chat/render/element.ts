/**
 * The tree between blocks and HTML. As in ElementTree, an element has the text before its first child and, as its tail, the text after its
 * own end. Until the inline stage these are source text, afterwards plain text.
 */

export interface Element {
  /** "" for a piece of text without an element. */
  tag: string
  /** Sorted by name, as Zulip writes them. */
  attributes: Record<string, string>
  text: string
  tail: string
  children: Element[]
  /** Finished HTML that replaces the element: highlighted code, formulas. */
  html?: string
  /** True for a link that never gets a preview. */
  isPlain?: boolean
}

export function element(tag: string, attributes: Record<string, string> = {}, text = ''): Element {
  return { tag, attributes, text, tail: '', children: [] }
}

export function finished(html: string): Element {
  return { ...element('div'), html }
}

export function append(parent: Element, tag: string, attributes: Record<string, string> = {}, text = ''): Element {
  const child = element(tag, attributes, text)
  parent.children.push(child)
  return child
}

/** The text of the element and its descendants, without its tail. */
export function textOf(node: Element): string {
  return node.text + node.children.map((child) => textOf(child) + child.tail).join('')
}
