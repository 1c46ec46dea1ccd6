/**
 * The tree between blocks and HTML. As in the trees that the dialect grew up with, an element has the text before its
 * first child and the text after its own end; until the inline stage these are sources, afterwards plain text.
 */

export interface Element {
  /** "" for a piece of text that is no element. */
  tag: string
  /** In the order of their names, as upstream writes them. */
  attributes: Record<string, string>
  text: string
  tail: string
  children: Element[]
  /** Finished HTML, which stands in the place of the element: highlighted code, formulas. */
  html?: string
  /** A link that has no preview, whatever it leads to. */
  isPlain?: boolean
}

export function element(tag: string, attributes: Record<string, string> = {}, text = ''): Element {
  return { tag, attributes, text, tail: '', children: [] }
}

/** An element that is finished HTML. It is laid out as a block, wherever blocks stand. */
export function finished(html: string): Element {
  return { ...element('div'), html }
}

export function append(parent: Element, tag: string, attributes: Record<string, string> = {}, text = ''): Element {
  const child = element(tag, attributes, text)
  parent.children.push(child)
  return child
}

/** All of the text in it, without its tail. */
export function textOf(node: Element): string {
  return node.text + node.children.map((child) => textOf(child) + child.tail).join('')
}
