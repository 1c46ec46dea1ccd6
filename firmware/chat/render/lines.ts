/**
 * First stage: extracts fences before blocks are parsed, and lets lists follow a paragraph directly. Contract 6.1. A marker between empty
 * lines replaces the content of a fence.
 */

import { codeBlock } from './code.ts'
import { blockMarker, withoutMarkers } from './markers.ts'
import type { MathRenderer } from './math.ts'

/** Deeper nesting stays text, so that no text causes deep recursion or long output. No author nests that deep. */
export const NESTING_MAX = 32

const TAB_COLUMNS = 4

export type Fenced =
  | { kind: 'quote'; lines: string[] }
  | { kind: 'spoiler'; header: string; lines: string[] }
  | { kind: 'html'; html: string }

export interface Lines {
  lines: string[]
  fenced: Fenced[]
}

interface Fence {
  fence: string
  language: string
  header: string
}

export function splitLines(text: string, codeLanguage: string, formulas: MathRenderer): Lines {
  const source = hangLists(withoutMarkers(text).replace(/\r\n?/g, '\n').split('\n'))
  const lines = source.map((line, index) => {
    const expanded = expandTabs(line)
    return index > 0 && expanded.trim() === '' && /^ *$/.test(expanded) ? '' : expanded
  })
  return new FenceReader(codeLanguage, formulas).read([...lines, '', ''])
}

/** Parses the opening or closing line of a fence. Language and header must not contain fence characters. */
function fenceOf(line: string): Fence | null {
  const fence = /^(?:~{3,}|`{3,})/.exec(line)?.[0]
  if (fence === undefined) return null
  const rest = line.slice(fence.length)
  if (/[~`]/.test(rest)) return null
  const found = /^ *(?:\{?\.?([a-zA-Z0-9_+,\-./#]+) *([^ ].*)?\}?)?$/s.exec(rest)
  return found === null ? null : { fence, language: found[1] ?? '', header: found[2] ?? '' }
}

/** Inserts an empty line before a list that follows another kind of line, except in code. */
function hangLists(lines: string[]): string[] {
  const hung: string[] = []
  const open: { fence: string; isCode: boolean }[] = []
  let codes = 0
  lines.forEach((line, index) => {
    hung.push(line)
    if (index === lines.length - 1) return
    const fence = fenceOf(line)
    if (fence !== null) {
      const last = open.at(-1)
      if (fence.language === '' && last?.fence === fence.fence) {
        open.pop()
        if (last.isCode) codes -= 1
      } else {
        const isCode = fence.language !== 'quote' && fence.language !== 'quoted'
        open.push({ fence: fence.fence, isCode })
        if (isCode) codes += 1
      }
    }
    if (codes > 0 || line === '') return
    const here = listMark(line)
    const next = listMark(lines[index + 1]!)
    if (next !== null && (here === null || (here.length === 1) !== (next.length === 1))) hung.push('')
  })
  return hung
}

function listMark(line: string): string | null {
  return /^ *([*+-]|\d\.) +/.exec(line)?.[1] ?? null
}

function expandTabs(line: string): string {
  if (!line.includes('\t')) return line
  let expanded = ''
  let column = 0 // counts characters, as Zulip does
  for (const part of line.split(/(\t)/)) {
    const shown = part === '\t' ? ' '.repeat(TAB_COLUMNS - (column % TAB_COLUMNS)) : part
    expanded += shown
    column += [...shown].length
  }
  return expanded
}

interface Open extends Fence {
  kind: 'text' | 'quote' | 'spoiler' | 'math' | 'code'
  lines: string[]
}

class FenceReader {
  readonly #codeLanguage: string
  readonly #formulas: MathRenderer
  readonly #fenced: Fenced[] = []
  readonly #open: Open[] = [{ kind: 'text', fence: '', language: '', header: '', lines: [] }]

  constructor(codeLanguage: string, formulas: MathRenderer) {
    this.#codeLanguage = codeLanguage
    this.#formulas = formulas
  }

  read(lines: string[]): Lines {
    for (const line of lines) this.#line(line)
    while (this.#open.length > 1) this.#close()
    return { lines: this.#open[0]!.lines, fenced: this.#fenced }
  }

  #line(line: string): void {
    const inner = this.#open.at(-1)!
    const trimmed = line.trimEnd()
    if (inner.kind !== 'text' && trimmed === inner.fence) {
      this.#close()
      return
    }
    if (inner.kind === 'code' || inner.kind === 'math') {
      inner.lines.push(trimmed)
      return
    }
    const fence = this.#open.length <= NESTING_MAX ? fenceOf(line) : null
    if (fence === null) inner.lines.push(line)
    else this.#open.push(this.#opened(fence, inner.kind))
  }

  #opened(fence: Fence, within: Open['kind']): Open {
    // Zulip ignores the organization's language within spoilers.
    const language = (fence.language || (within === 'spoiler' ? '' : this.#codeLanguage)).toLowerCase()
    const kind =
      language === 'quote' || language === 'quoted'
        ? 'quote'
        : language === 'math' || language === 'spoiler'
          ? language
          : 'code'
    return { ...fence, language, kind, lines: [] }
  }

  #close(): void {
    const { kind, language, header, lines } = this.#open.pop()!
    if (lines.length === 0) return
    const fenced: Fenced =
      kind === 'quote'
        ? { kind, lines }
        : kind === 'spoiler'
          ? { kind, header, lines }
          : kind === 'math'
            ? { kind: 'html', html: `<p>${this.#formulas.display(lines.join('\n'))}</p>` }
            : { kind: 'html', html: codeBlock(lines.join('\n'), language) }
    this.#fenced.push(fenced)
    this.#open.at(-1)!.lines.push('', blockMarker(this.#fenced.length - 1), '')
  }
}
