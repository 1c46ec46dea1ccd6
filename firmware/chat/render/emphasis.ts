/** `*emphasis*`: only asterisks, which nest where a closing one may not follow its neighbour. Contract 6.2. */

import { element } from './element.ts'
import type { InlineMatches } from './inline.ts'

/**
 * Each asterisk closes the last open one, unless a space, a line break or `^` forbids that: then it is open itself. So
 * one pass finds what upstream finds by looking for the first pair again and again.
 */
export function emphasis(source: string, found: InlineMatches): string {
  if (!source.includes('*')) return source
  // Texts between open asterisks; what was emphasised in them is taken out already.
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
