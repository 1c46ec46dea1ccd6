/**
 * What was taken out of one HTML text and put into another, as spans that clients colour. Contract section 3.2, E14
 * (`content_html_diff`).
 */

const TOKEN = /<[^>]*>|[^<\s]+|\s+|</g
const CELLS_MAX = 1_000_000 // of the table below: a thousand words changed at once; beyond, all of it counts as changed

/** Both are HTML of the renderer; so is the answer, but for the spans. */
export function contentDiff(before: string, after: string): string {
  const a = before.match(TOKEN) ?? []
  const b = after.match(TOKEN) ?? []
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  const changed = diff(a.slice(start, a.length - end), b.slice(start, b.length - end))
  return [...b.slice(0, start), ...changed, ...b.slice(b.length - end)].join('')
}

function diff(a: readonly string[], b: readonly string[]): string[] {
  if (a.length * b.length > CELLS_MAX) return [...marked('deleted', a), ...marked('inserted', b)]
  const width = b.length + 1
  const common = new Uint32Array((a.length + 1) * width) // longest common subsequences of what follows
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] =
        a[i] === b[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!)
  const out: string[] = []
  let removed: string[] = []
  let added: string[] = []
  const flush = (): void => {
    out.push(...marked('deleted', removed), ...marked('inserted', added))
    removed = []
    added = []
  }
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      flush()
      out.push(a[i]!)
      i++
      j++
    } else if (j === b.length || (i < a.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!))
      removed.push(a[i++]!)
    else added.push(b[j++]!)
  }
  flush()
  return out
}

/** Tags stay outside the spans: those of the new text, none of the old. */
function marked(kind: 'deleted' | 'inserted', tokens: readonly string[]): string[] {
  const out: string[] = []
  let text = ''
  const flush = (): void => {
    if (text.trim() !== '') out.push(`<span class="highlight_text_${kind}">${text}</span>`)
    else if (kind === 'inserted') out.push(text)
    text = ''
  }
  for (const token of tokens) {
    if (!token.startsWith('<') || token === '<') text += token
    else {
      flush()
      if (kind === 'inserted') out.push(token)
    }
  }
  flush()
  return out
}
