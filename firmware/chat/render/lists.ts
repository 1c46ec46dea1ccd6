/** Lists: two spaces indent, and the kinds of marks are not mixed. Contract 6.1. */

export const LIST_INDENT = '  '

export const CODE_INDENT = '    '

const MARKS = {
  ol: /^ ?(\d+)\. +(.*)$/s,
  ul: /^ ?([*+-]) +(.*)$/s,
} as const

const INDENTED_ITEM = /^ {2,3}(?:\d+\.|[*+-]) +/

/** Which list a line begins, if it does. */
export function listKind(line: string): 'ol' | 'ul' | null {
  return MARKS.ol.test(line) ? 'ol' : MARKS.ul.test(line) ? 'ul' : null
}

/** Lines of each item, without its mark. Items further in follow as one that begins with their indent. */
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
