/**
 * Second stage: turns lines into a tree of blocks, whose texts are still source text. Contract 6.1. Empty lines separate blocks. The kinds
 * of blocks are tried in a fixed order. Only the first lines of a block, or the first line that begins another kind, decide, so the number
 * of looks at each line is bounded.
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

interface Place {
  within: 'text' | 'item' | 'loose item' | 'quote' | 'indented'
  /** Number of enclosing quotes, lists and spoilers. */
  depth: number
  /** Mentions in a quote notify no one. They were silenced when the quote began. */
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

  /** Splits lines into blocks at empty lines. */
  chunk(parent: Element, lines: string[], place: Place): void {
    // Two line breaks separate blocks, as in Zulip: of three, the last belongs to the next block, which drops it.
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
        // Lines directly after a heading in a loose item share its indentation.
        if (!dedented) {
          for (let index = at; index < lines.length; index += 1)
            if (lines[index]!.startsWith(LIST_INDENT)) lines[index] = lines[index]!.slice(LIST_INDENT.length)
          dedented = true
        }
      }
    }
  }

  /** Parses lines from `at` to `end`, which contain no heading. Returns the index to continue at. */
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
    // An empty quote shows its `>` marks, as one without a fence does.
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

  /** Adds lines that are indented below a list to the item at their indentation. */
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

  /** Text is a paragraph, except in an item of a list without empty lines. */
  #paragraph(parent: Element, lines: string[], { within }: Place): void {
    const text = lines.join('\n')
    if (text.trim() === '') return
    const last = parent.children.at(-1)
    if (within !== 'item') append(parent, 'p', {}, text.trimStart())
    else if (last !== undefined) last.tail += `\n${text}`
    else parent.text = parent.text === '' ? text.trimStart() : `${parent.text}\n${text}`
  }
}

/** Mentions in a quote notify no one. */
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

/** Returns the element for lines indented to `into`: of a list its last item, which becomes loose. */
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

/** Moves the text of an item into a paragraph. Needed when more content follows after an empty line. */
function loosenText(item: Element): void {
  if (item.text === '') return
  item.children.unshift(element('p', {}, item.text))
  item.text = ''
}

function loosenTail(item: Element): void {
  const last = item.children.at(-1)
  if (last === undefined || last.tail === '') return
  append(item, 'p', {}, last.tail.trimStart())
  last.tail = ''
}

/** Lines indented by four spaces are code. Consecutive blocks of code are joined. */
function appendCode(parent: Element, lines: string[], at: number): number {
  let end = at
  while (end < lines.length && (lines[end]!.startsWith(CODE_INDENT) || lines[end]!.trim() === '')) end += 1
  const code = lines.slice(at, end).map((line) => line.slice(CODE_INDENT.length))
  const last = parent.children.at(-1)
  if (last?.tag === 'pre') last.text += `\n${code.join('\n').trimEnd()}\n`
  else append(parent, 'pre', {}, `${code.join('\n').trimEnd()}\n`)
  return end
}

/** Replaces indented code by HTML, once all blocks are joined. */
export function finishCode(root: Element): void {
  root.children.forEach((child, index) => {
    if (child.tag === 'pre' && child.html === undefined)
      // Zulip adds an empty line after this kind of code only.
      root.children[index] = { ...finished(`${codeBlock(child.text, '')}\n`), tail: child.tail }
    else finishCode(child)
  })
}
