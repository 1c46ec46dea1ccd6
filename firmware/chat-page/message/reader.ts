/**
 * Parses the HTML that the server makes of messages into a tree: quoted attributes and balanced tags only. The page shows other
 * HTML as text. The browser's parser never sees a message.
 */

export interface HtmlNode {
  readonly tag: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: readonly HtmlPart[]
}

export type HtmlPart = HtmlNode | string

const DEPTH_MAX = 256 // formulas have the deepest nesting
const VOID = new Set(['br', 'hr', 'img'])

/** Sticky: each pattern starts where the previous match ended, so parsing takes linear time. KaTeX writes a space after `class` in MathML. */
const OPENING = /<([a-z][a-z0-9]*)((?: [a-zA-Z][a-zA-Z0-9:-]*(?: ?="[^"<>]*")?)*) ?(\/?)>/y
const CLOSING = /<\/([a-z][a-z0-9]*)>/y
const TEXT = /[^<]+/y
const ATTRIBUTE = / ([a-zA-Z][a-zA-Z0-9:-]*)(?: ?="([^"<>]*)")?/g

/** Null if the text is not in the form that the server writes. */
export function readHtml(html: string): readonly HtmlPart[] | null {
  const root: HtmlPart[] = []
  const open: { tag: string; children: HtmlPart[] }[] = [{ tag: '', children: root }]
  let at = 0
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(html)
    if (match !== null) at = pattern.lastIndex
    return match
  }
  while (at < html.length) {
    const parent = open.at(-1)
    if (parent === undefined) return null
    const text = take(TEXT)
    if (text !== null) {
      parent.children.push(decodeEntities(text[0]))
      continue
    }
    const closing = take(CLOSING)
    if (closing !== null) {
      if (open.length === 1 || closing[1] !== parent.tag) return null
      open.pop()
      continue
    }
    const opening = take(OPENING)
    if (opening === null) return null
    const [, tag = '', attributes = '', slash] = opening
    const node = { tag, attributes: readAttributes(attributes), children: [] as HtmlPart[] }
    parent.children.push(node)
    if (VOID.has(tag) || slash === '/') continue
    if (open.length > DEPTH_MAX) return null
    open.push(node)
  }
  return open.length === 1 ? root : null
}

function readAttributes(text: string): Record<string, string> {
  const attributes: Record<string, string> = Object.create(null)
  for (const [, name = '', value] of text.matchAll(ATTRIBUTE)) attributes[name] = decodeEntities(value ?? name)
  return attributes
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' }

/** Decodes numeric and the most common entities; other names stay as text. A table of all two thousand would be larger than the page. */
export const decodeEntities = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-z]+));/g, (all, decimal, hex, name) => {
    if (name !== undefined) return (Object.hasOwn(NAMED, name) && NAMED[name]) || all
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
    const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
    return isCharacter ? String.fromCodePoint(code) : '\ufffd'
  })

export const textOf = (parts: readonly HtmlPart[]): string =>
  parts.map((part) => (typeof part === 'string' ? part : textOf(part.children))).join('')
