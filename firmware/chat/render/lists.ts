/** Lists: items are indented by two spaces, and a list has one kind of mark. Contract 6.1. */

export const LIST_INDENT = '  '

export const CODE_INDENT = '    '

const MARKS = {
  ol: /^ ?(\d+)\. +(.*)$/s,
  ul: /^ ?([*+-]) +(.*)$/s,
} as const

const INDENTED_ITEM = /^ {2,3}(?:\d+\.|[*+-]) +/

export function listKind(line: string): 'ol' | 'ul' | null {
  return MARKS.ol.test(line) ? 'ol' : MARKS.ul.test(line) ? 'ul' : null
}

/** Splits lines into items, without their marks. Nested items follow as an item that begins with their indentation. */
export function listItems(kind: 'ol' | 'ul', lines: string[]): { items: string[][]; start: string } {
  const items: string[][] = []
  let start = '1'
  for (const line of lines) {
    const found = MARKS[kind].exec(line)
    const last = items.at(-1)
    if (found !== null) {
      if (last === undefined && kind === 'ol') start = found[1]!
      items.push([found[2]!])
    } else if (INDENTED_ITEM.test(line) && !last![0]!.startsWith(LIST_INDENT)) items.push([line])
    else last!.push(line)
  }
  return { items, start }
}
