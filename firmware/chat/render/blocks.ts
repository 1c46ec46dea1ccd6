/**
 * Second stage: lines become a tree of blocks, whose texts are still sources. Contract 6.1.
 *
 * A block is what lies between empty lines. It is tried for what it may be in a fixed order, and only its first lines
 * decide, or the first line in it that begins something else: so each line is looked at a bounded number of times.
 */

import { codeBlock } from './code.ts'
import { append, type Element, element, finished } from './element.ts'
import { headingAt, isQuote, isRule, quoteStart, withoutQuoteMark } from './line-kinds.ts'
import { type Fenced, NESTING_MAX } from './lines.ts'
import { CODE_INDENT, LIST_INDENT, listItems, listKind } from './lists.ts'
import { blockIndex } from './markers.ts'
import { GROUP_MENTION, USER_MENTION } from './patterns.ts'
import { appendTable, tableOf } from './tables.ts'

const userMention = new RegExp(USER_MENTION, 'gu')
const groupMention = new RegExp(GROUP_MENTION, 'gu')

/** What lines are part of. */
interface Place {
  /** Decides whether a text becomes a paragraph. */
  within: 'text' | 'item' | 'loose item' | 'quote' | 'indented'
  /** Quotes, lists and spoilers around them. */
  depth: number
  /** Mentions in a quote notify nobody; its lines had theirs silenced when it began. */
  quoted: boolean
}

export function parseBlocks(lines: string[], fenced: Fenced[]): Element {
  const root = element('div')
  new BlockParser(fenced).chunk(root, lines, { within: 'text', depth: 0, quoted: false })
  return root
}

class BlockParser {
  readonly #fenced: Fenced[]

  constructor(fenced: Fenced[]) {
    this.#fenced = fenced
  }

  /** Lines in which empty ones part blocks. */
  chunk(parent: Element, lines: string[], place: Place): void {
    // As upstream, two line breaks part blocks: of three, the last begins the next block and is dropped there.
    for (const block of lines.join('\n').split('\n\n')) this.#block(parent, block.split('\n'), place)
  }

  #block(parent: Element, lines: string[], place: Place): void {
    if (place.depth > NESTING_MAX) {
      this.#paragraph(parent, lines, place)
      return
    }
    let at = 0
    let dedented = place.within !== 'loose item'
    let heading = -1
    while (at < lines.length) {
      const line = lines[at]!
      const fence = blockIndex(line)
      if (line === '') {
        const last = parent.children.at(-1)
        if (last?.tag === 'pre') last.text += lines.length === 1 ? '\n\n' : '\n'
        at += 1
      } else if (fence !== null) {
        this.#fence(parent, this.#fenced[fence]!, place)
        at += 1
      } else if (line.startsWith(LIST_INDENT) && place.within !== 'indented' && takesIndented(parent)) {
        this.#indented(parent, lines.slice(at), place)
        return
      } else if (line.startsWith(CODE_INDENT)) at = appendCode(parent, lines, at)
      else {
        if (heading < at) {
          heading = at
          while (heading < lines.length && headingAt(lines, heading) === null) heading += 1
        }
        if (heading > at) {
          at = this.#plain(parent, lines, at, heading, place)
          continue
        }
        const { level, text, next } = headingAt(lines, at)!
        append(parent, `h${level}`, {}, text)
        at = next
        // What follows a heading in a loose item at once is indented with it.
        if (!dedented) {
          for (let index = at; index < lines.length; index += 1)
            if (lines[index]!.startsWith(LIST_INDENT)) lines[index] = lines[index]!.slice(LIST_INDENT.length)
          dedented = true
        }
      }
    }
  }

  /** Lines from `at` to `end` without a heading. Returns where to go on: at a line that may begin anything again. */
  #plain(parent: Element, lines: string[], at: number, end: number, place: Place): number {
    if (isTable(parent, lines, at, end)) return end
    let rule = at
    while (rule < end && !isRule(lines[rule]!)) rule += 1
    if (rule > at && !isTable(parent, lines, at, rule)) this.#ruleless(parent, lines.slice(at, rule), place)
    if (rule === end) return end
    append(parent, 'hr')
    return rule + 1
  }

  #ruleless(parent: Element, lines: string[], place: Place): void {
    const kind = listKind(lines[0]!)
    const quote = lines.some(isQuote) ? quoteStart(lines) : -1
    if (kind !== null) this.#list(parent, kind, lines, place)
    else if (quote < 0) this.#paragraph(parent, lines, place)
    else {
      if (quote > 0) this.#paragraph(parent, lines.slice(0, quote), place)
      const inner = lines.slice(quote).map((line) => withoutQuoteMark(place.quoted ? line : silenced(line)))
      this.#quote(parent, inner, place)
    }
  }

  #fence(parent: Element, fenced: Fenced, place: Place): void {
    if (fenced.kind === 'html') parent.children.push(finished(fenced.html))
    else if (fenced.kind === 'spoiler') this.#spoiler(parent, fenced, place)
    // A quote in which nothing stands shows its marks, as one made by hand does.
    else if (fenced.lines.every((line) => line.trim() === ''))
      this.#paragraph(
        parent,
        fenced.lines.map((line) => `> ${line}`),
        place,
      )
    else this.#quote(parent, fenced.lines.map(silenced), place)
  }

  #quote(parent: Element, lines: string[], { depth }: Place): void {
    this.chunk(append(parent, 'blockquote'), lines, { within: 'quote', depth: depth + 1, quoted: true })
  }

  #spoiler(parent: Element, { header, lines }: { header: string; lines: string[] }, place: Place): void {
    const spoiler = append(parent, 'div', { class: 'spoiler-block' })
    const silence = (line: string) => (place.quoted ? silenced(line) : line)
    const inner = deeper(place, place.within)
    const head = append(spoiler, 'div', { class: 'spoiler-header' })
    if (header !== '') this.chunk(head, [silence(header)], inner)
    this.chunk(append(spoiler, 'div', { class: 'spoiler-content', 'aria-hidden': 'true' }), lines.map(silence), inner)
  }

  #list(parent: Element, kind: 'ol' | 'ul', lines: string[], place: Place): void {
    const { items, start } = listItems(kind, lines)
    const last = parent.children.at(-1)
    let list = parent
    if (last?.tag === kind) {
      list = last
      loosenText(list.children.at(-1)!)
      loosenTail(list.children.at(-1)!)
      this.#block(append(list, 'li'), items.shift()!, deeper(place, 'loose item'))
    } else if (parent.tag !== 'ol' && parent.tag !== 'ul')
      list = append(parent, kind, kind === 'ol' && start !== '1' ? { start } : {})
    for (const item of items) {
      const into = item[0]!.startsWith(LIST_INDENT) ? list.children.at(-1)! : append(list, 'li')
      this.#block(into, item, deeper(place, 'item'))
    }
  }

  /** Lines that are indented below a list go into the item that their indent points at. */
  #indented(parent: Element, lines: string[], place: Place): void {
    const wanted = Math.floor(/^ */.exec(lines[0]!)![0].length / LIST_INDENT.length)
    let level = place.within === 'item' ? 1 : 0
    let into = parent
    while (wanted > level) {
      const child = into.children.at(-1)
      if (child === undefined || !(isList(child) || child.tag === 'li')) break
      if (isList(child)) level += 1
      into = child
    }
    const indent = LIST_INDENT.repeat(level)
    const inner = lines.map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line))
    this.#block(intoItem(parent, into), inner, deeper(place, 'indented'))
  }

  /** In an item of a list without empty lines a text is the item's own, elsewhere a paragraph. */
  #paragraph(parent: Element, lines: string[], { within }: Place): void {
    const text = lines.join('\n')
    if (text.trim() === '') return
    const last = parent.children.at(-1)
    if (within !== 'item') append(parent, 'p', {}, text.trimStart())
    else if (last !== undefined) last.tail += `\n${text}`
    else parent.text = parent.text === '' ? text.trimStart() : `${parent.text}\n${text}`
  }
}

/** Mentions in a quote notify nobody. */
function silenced(line: string): string {
  if (!line.includes('@')) return line
  return line.replace(userMention, '@_**$2**').replace(groupMention, '@_*$2*')
}

function deeper(place: Place, within: Place['within']): Place {
  return { ...place, within, depth: place.depth + 1 }
}

function isList(node: Element | undefined): boolean {
  return node?.tag === 'ol' || node?.tag === 'ul'
}

function takesIndented(parent: Element): boolean {
  return parent.tag === 'li' || isList(parent.children.at(-1))
}

/** Where indented lines go that point at `into`: a list takes them in its last item, which they loosen. */
function intoItem(parent: Element, into: Element): Element {
  const last = parent.children.at(-1)
  if (parent.tag === 'li') return isList(last) ? last! : parent
  if (into.tag === 'li') return into
  const item = into.children.at(-1)?.tag === 'li' ? into.children.at(-1)! : append(into, 'li')
  loosenText(item)
  return item
}

function isTable(parent: Element, lines: string[], at: number, end: number): boolean {
  const table = tableOf(lines, at, end)
  if (table !== null) appendTable(parent, table, lines.slice(at + 2, end))
  return table !== null
}

/** An item that something follows after an empty line has its text in a paragraph, */
function loosenText(item: Element): void {
  if (item.text === '') return
  item.children.unshift(element('p', {}, item.text))
  item.text = ''
}

/** and so has the text after a heading in it. */
function loosenTail(item: Element): void {
  const last = item.children.at(-1)
  if (last === undefined || last.tail === '') return
  append(item, 'p', {}, last.tail.trimStart())
  last.tail = ''
}

/** Lines indented by four spaces are code; code in the next block of the same kind goes on with it. */
function appendCode(parent: Element, lines: string[], at: number): number {
  let end = at
  while (end < lines.length && (lines[end]!.startsWith(CODE_INDENT) || lines[end]!.trim() === '')) end += 1
  const code = lines.slice(at, end).map((line) => line.slice(CODE_INDENT.length))
  const last = parent.children.at(-1)
  if (last?.tag === 'pre') last.text += `\n${code.join('\n').trimEnd()}\n`
  else append(parent, 'pre', {}, `${code.join('\n').trimEnd()}\n`)
  return end
}

/** Turns the code that is indented into the HTML of code, once no more can join it. */
export function finishCode(root: Element): void {
  root.children.forEach((child, index) => {
    if (child.tag === 'pre' && child.html === undefined)
      // An empty line follows it: so upstream does it, with this code only.
      root.children[index] = { ...finished(`${codeBlock(child.text, '')}\n`), tail: child.tail }
    else finishCode(child)
  })
}
