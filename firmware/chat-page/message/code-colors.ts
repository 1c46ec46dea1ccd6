/**
 * Colors of code. The browser paints the tokens over the text: no element is made of them. A text that takes too long, or has an
 * unknown language, stays as it is. W3C CSS Custom Highlight API.
 */

import { type CodeToken, splitCode } from './code-tokens.ts'

const BLOCK_TOKENS_MAX = 1500 // painted: of 10,000 characters, numbers have 5,000, and code that people write has up to 1,200
const TOKENS_MAX = 20_000 // in the document: the browser looks through all of them when one is added

/** Color by the first part of a scope. `::highlight(code-...)` in style.css. */
const COLORS: Readonly<Record<string, string>> = {
  ...{ keyword: 'keyword', operator: 'keyword', 'selector-tag': 'keyword', section: 'keyword' },
  ...{ tag: 'keyword', 'template-tag': 'keyword' },
  ...{ string: 'string', char: 'string', regexp: 'string', addition: 'string', quote: 'string', link: 'string' },
  ...{ number: 'number', literal: 'number', symbol: 'number', bullet: 'number', variable: 'number' },
  ...{ comment: 'comment', doctag: 'comment', meta: 'comment' },
  ...{ title: 'title', name: 'title', 'selector-id': 'title', 'selector-class': 'title' },
  ...{ built_in: 'type', type: 'type', attr: 'type', attribute: 'type', property: 'type' },
  'template-variable': 'number',
  deletion: 'deletion',
}

let painted = 0

/** The colors are there until the signal is aborted. */
export function colorCode(node: Text, language: string, signal: AbortSignal): void {
  if (signal.aborted || !('highlights' in CSS)) return
  const cancel = splitCode(language, node.data, (tokens) => signal.addEventListener('abort', paint(node, tokens)))
  signal.addEventListener('abort', cancel)
}

/** Returns the function that takes the colors away. */
function paint(node: Text, tokens: readonly CodeToken[]): () => void {
  const ranges: [color: string, range: StaticRange][] = []
  let at = 0
  for (const [scope, text] of tokens) {
    const [first = ''] = scope.split('.')
    const color = Object.hasOwn(COLORS, first) ? COLORS[first] : undefined
    const [startOffset, endOffset] = [at, at + text.length]
    at = endOffset
    if (color !== undefined)
      ranges.push([color, new StaticRange({ startContainer: node, startOffset, endContainer: node, endOffset })])
  }
  const isWhole = tokens.map(([, text]) => text).join('') === node.data
  const isTooMuch = ranges.length > BLOCK_TOKENS_MAX || painted + ranges.length > TOKENS_MAX
  if (!isWhole || isTooMuch) return () => {}
  painted += ranges.length
  for (const [color, range] of ranges) highlightOf(color).add(range)
  return () => {
    painted -= ranges.length
    for (const [color, range] of ranges) highlightOf(color).delete(range)
  }
}

function highlightOf(color: string): Highlight {
  const name = `code-${color}`
  const highlight = CSS.highlights.get(name) ?? new Highlight()
  CSS.highlights.set(name, highlight)
  return highlight
}
