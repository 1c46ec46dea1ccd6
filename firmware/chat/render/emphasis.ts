/** `*emphasis*`: asterisks only. They nest where an asterisk cannot close because of the character before it. Contract 6.2. */

import { element } from './element.ts'
import type { InlineMatches } from './inline.ts'

/**
 * Each asterisk closes the last open one, unless a space, a line break or `^` prevents that; then it opens. One pass thus finds the same as
 * Zulip's repeated search for the first pair.
 */
export function emphasis(source: string, found: InlineMatches): string {
  if (!source.includes('*')) return source
  // Texts between open asterisks, with inner emphasis already replaced.
  const texts = ['']
  const opened: number[] = []
  let lastBreak = -1
  for (const { index, 0: text } of source.matchAll(/[*^\n]|[^*^\n]+/g)) {
    if (text === '^' || text === '\n') lastBreak = index
    const open = opened.at(-1)
    const inner = texts.at(-1)!
    if (text !== '*') texts[texts.length - 1] = inner + text
    else if (open !== undefined && open > lastBreak && inner !== '' && !/^\s|\s$/.test(inner)) {
      opened.pop()
      texts.pop()
      texts[texts.length - 1] += found.take(element('em', {}, found.later(inner)), `*${inner}*`)
    } else {
      opened.push(index)
      texts.push('')
    }
  }
  return texts.join('*')
}
