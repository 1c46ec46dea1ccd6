/** Lines that begin a heading, a rule or a quote. Each test is one pass over the line. Contract 6.1. */

interface Heading {
  level: number
  text: string
  next: number
}

/**
 * A heading needs a space after its marks. Trailing marks are dropped, unless a backslash precedes them. As in Zulip, marks alone on a line
 * take the text of the next line.
 */
export function headingAt(lines: string[], at: number): Heading | null {
  const marks = /^#{1,6}(?!#)/.exec(lines[at]!)?.[0].length
  if (marks === undefined) return null
  const rest = lines[at]!.slice(marks)
  if (rest === '') {
    const text = at + 1 < lines.length ? headingText(lines[at + 1]!) : null
    return text === null ? null : { level: marks, text, next: at + 2 }
  }
  const text = /^\s/.test(rest) ? headingText(rest.slice(1)) : null
  return text === null ? null : { level: marks, text, next: at + 1 }
}

/** @returns null if the line ends in a single backslash. */
function headingText(line: string): string | null {
  let end = line.length
  while (end > 0 && line[end - 1] === '#') end -= 1
  let at = 0
  while (at < end) at += line[at] === '\\' ? 2 : 1
  // A backslash before the trailing marks preserves the first of them.
  return at > line.length ? null : line.slice(0, at).trim()
}

/** True for three or more of `-`, `_` or `*` with at most two spaces between them. */
export function isRule(line: string): boolean {
  return /^ {0,3}(?:-(?: {0,2}-){2,}|_(?: {0,2}_){2,}|\*(?: {0,2}\*){2,}) *$/.test(line)
}

export function isQuote(line: string): boolean {
  return /^ {0,3}>/.test(line)
}

/** Returns the line at which the quote begins; it extends to the end of the block. -1 if the quote would be empty. */
export function quoteStart(lines: string[]): number {
  const first = lines.findIndex(isQuote)
  return lines.slice(first).every((line) => /^ {0,3}>\s*$/.test(line)) ? -1 : first
}

export function withoutQuoteMark(line: string): string {
  return line.trim() === '>' ? '' : line.replace(/^ {0,3}> ?/, '')
}
