/** Tables with pipes. Contract 6.1. */

import { append, type Element } from './element.ts'
import { RenderedTooLong } from './html.ts'

/** Bound on cells, by the maximum length of the HTML. A wide head over many short rows would create millions of empty cells. */
const CELLS_MAX = 100_000

export interface Table {
  head: string[]
  /** By column; null for none. */
  alignments: (string | null)[]
  /** True if the head begins or ends with a pipe. Outer pipes of rows then are borders, too. */
  bordered: boolean
}

/** Parses a table at `at`: a head and a line of dashes with the same number of cells. */
export function tableOf(lines: string[], at: number, end: number): Table | null {
  if (end - at < 2) return null
  const first = trimSpaces(lines[at]!)
  const second = trimSpaces(lines[at + 1]!)
  if (!first.includes('|') || !/^[|:\- ]*$/.test(second)) return null
  const bordered = first.startsWith('|') || endsWithPipe(first)
  const head = cellsOf(first, bordered)
  const dashes = cellsOf(second, bordered)
  if (dashes.length !== head.length) return null
  if (head.length === 1) {
    if (!bordered) return null
    for (let row = at + 1; row < end; row += 1) {
      const text = trimSpaces(lines[row]!)
      if (!text.startsWith('|') && !endsWithPipe(text)) return null
    }
  }
  return { head, alignments: dashes.map(alignment), bordered }
}

/** @throws RenderedTooLong */
export function appendTable(parent: Element, { head, alignments, bordered }: Table, rows: string[]): void {
  if (alignments.length * (rows.length + 1) > CELLS_MAX) throw new RenderedTooLong()
  const table = append(parent, 'table')
  appendRow(append(table, 'thead'), 'th', head, alignments)
  const body = append(table, 'tbody')
  // Zulip does not align the cells of a table without rows.
  if (rows.length === 0)
    appendRow(
      body,
      'td',
      [],
      alignments.map(() => null),
    )
  for (const row of rows) appendRow(body, 'td', cellsOf(trimSpaces(row), bordered), alignments)
}

function appendRow(parent: Element, tag: string, cells: string[], alignments: (string | null)[]): void {
  const row = append(parent, 'tr')
  alignments.forEach((align, column) => {
    append(row, tag, align === null ? {} : { style: `text-align: ${align};` }, trimSpaces(cells[column] ?? ''))
  })
}

function alignment(dashes: string): string | null {
  const text = trimSpaces(dashes)
  if (text.startsWith(':')) return text.endsWith(':') ? 'center' : 'left'
  return text.endsWith(':') ? 'right' : null
}

function cellsOf(row: string, bordered: boolean): string[] {
  if (!bordered) return splitAtPipes(row)
  const inner = row.startsWith('|') ? row.slice(1) : row
  return splitAtPipes(endsWithPipe(inner) ? inner.slice(0, -1) : inner)
}

/** A pipe after an odd number of backslashes is no border. */
function endsWithPipe(row: string): boolean {
  return row.endsWith('|') && /\\*$/.exec(row.slice(0, -1))![0].length % 2 === 0
}

/** Pipes in code and after a backslash do not separate cells. */
function splitAtPipes(row: string): string[] {
  const pipes: number[] = []
  const ticks: { start: number; end: number; length: number; escaped: number }[] = []
  for (const found of row.matchAll(/\\\\|(\\?)(`+)|\\\||(\|)/g)) {
    const [whole, backslash, run, pipe] = found
    if (pipe !== undefined) pipes.push(found.index)
    else if (run !== undefined)
      ticks.push({
        start: found.index,
        end: found.index + whole.length,
        length: run.length,
        escaped: backslash!.length,
      })
  }
  const codes = codeRegions(ticks)
  const cells: string[] = []
  let start = 0
  let code = 0
  for (const pipe of pipes) {
    while (code < codes.length && codes[code]!.end <= pipe) code += 1
    if (code < codes.length && codes[code]!.start <= pipe) continue
    cells.push(row.slice(start, pipe))
    start = pipe + 1
  }
  return [...cells, row.slice(start)]
}

/** Pairs each run of backticks with the next of its length. A run after a backslash opens with one backtick less. */
function codeRegions(
  ticks: { start: number; end: number; length: number; escaped: number }[],
): { start: number; end: number }[] {
  const later = new Map<number, number[]>()
  for (let index = ticks.length - 1; index >= 0; index -= 1) {
    const { length } = ticks[index]!
    const same = later.get(length)
    if (same === undefined) later.set(length, [index])
    else same.push(index)
  }
  const regions: { start: number; end: number }[] = []
  let at = 0
  while (at < ticks.length) {
    const { start, length, escaped } = ticks[at]!
    const candidates = later.get(length - escaped) ?? []
    while (candidates.length > 0 && candidates.at(-1)! <= at) candidates.pop()
    const close = length - escaped === 0 ? undefined : candidates.at(-1)
    if (close === undefined) at += 1
    else {
      regions.push({ start, end: ticks[close]!.end })
      at = close + 1
    }
  }
  return regions
}

function trimSpaces(text: string): string {
  return text.replace(/^ +/, '').replace(/(?<! ) +$/, '')
}
