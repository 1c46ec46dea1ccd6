/**
 * Highlights the difference between two rendered messages with spans that clients color. Contract section 3.2, E14 (`content_html_diff`).
 */

const TOKEN = /<[^>]*>|[^<\s]+|\s+|</g

/** Enough for a thousand changed words. All differences of one answer share it, because the edits of a minute can exceed it. */
const CELLS_MAX = 1_000_000

/** Table cells that may still be computed. A difference that needs more is shown as changed completely. */
interface DiffBudget {
  cells: number
}

export const diffBudget = (): DiffBudget => ({ cells: CELLS_MAX })

/**
 * Both texts are HTML of the renderer. Yields the number of computed cells after each table row, so that the caller can yield to the event
 * loop.
 */
export function* contentDiff(before: string, after: string, budget: DiffBudget): Generator<number, string> {
  const a = before.match(TOKEN) ?? []
  const b = after.match(TOKEN) ?? []
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  const changed = yield* diff(a.slice(start, a.length - end), b.slice(start, b.length - end), budget)
  return [...b.slice(0, start), ...changed, ...b.slice(b.length - end)].join('')
}

function* diff(a: readonly string[], b: readonly string[], budget: DiffBudget): Generator<number, string[]> {
  const cells = a.length * b.length
  if (cells > budget.cells) return [...marked('deleted', a), ...marked('inserted', b)]
  budget.cells -= cells
  const width = b.length + 1
  const common = new Uint32Array((a.length + 1) * width) // lengths of the longest common subsequences of the suffixes
  const length = (i: number, j: number): number => common[i * width + j] ?? 0
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] = a[i] === b[j] ? length(i + 1, j + 1) + 1 : Math.max(length(i + 1, j), length(i, j + 1))
    yield b.length
  }
  const out: string[] = []
  let removed: string[] = []
  let added: string[] = []
  const flush = (): void => {
    out.push(...marked('deleted', removed), ...marked('inserted', added))
    removed = []
    added = []
  }
  let [i, j] = [0, 0]
  for (;;) {
    const [before, after] = [a[i], b[j]]
    if (before !== undefined && before === after) {
      flush()
      out.push(before)
      i++
      j++
    } else if (before !== undefined && (after === undefined || length(i + 1, j) >= length(i, j + 1))) {
      removed.push(before)
      i++
    } else if (after !== undefined) {
      added.push(after)
      j++
    } else break
  }
  flush()
  return out
}

/** Tags stay outside the spans. Only tags of the new text are kept. */
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
