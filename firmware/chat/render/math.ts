/** Formulas, rendered by KaTeX. Formulas that are invalid, too long, too many or that define macros are shown as source. Contract 6. */

import katex from 'katex'
import { element, finished } from './element.ts'
import type { Pattern } from './inline.ts'

/** Longer than formulas in practice; this length takes 30 ms and produces 320 KB. */
const FORMULA_CHARACTERS_MAX = 2000

/**
 * For all formulas of a text, each counted with a minimum length. Without it, one message could block all other requests for half a second.
 */
const TEXT_CHARACTERS_MAX = 4000
const FORMULA_CHARACTERS_MIN = 40

/** Commands that define macros: KaTeX bounds the number of expansions, but not the length of their result. */
const DEFINITION = /\\(?:[egx]?def|(?:re)?newcommand|providecommand|let|futurelet|global|long)(?![a-zA-Z])/

export class MathRenderer {
  #charactersLeft = TEXT_CHARACTERS_MAX

  inline(source: string): string | null {
    return this.#render(source, false)
  }

  /** Each paragraph of a fence is a separate formula. */
  display(source: string): string {
    return source
      .split('\n\n')
      .map((part) => this.#render(part, true) ?? `<span class="tex-error">${escapeAll(part)}</span>`)
      .join('\n\n')
  }

  #render(source: string, displayMode: boolean): string | null {
    this.#charactersLeft -= Math.max(source.length, FORMULA_CHARACTERS_MIN)
    if (source.length > FORMULA_CHARACTERS_MAX || this.#charactersLeft < 0 || DEFINITION.test(source)) return null
    try {
      return unheard(() =>
        katex.renderToString(source, {
          displayMode,
          throwOnError: true,
          strict: 'ignore',
          trust: false,
          maxExpand: 100,
          maxSize: 20,
        }),
      )
    } catch {
      // KaTeX throws several kinds of errors, also for its own bugs. The source is shown for all of them.
      return null
    }
  }
}

const OUTPUTS = ['log', 'warn', 'error'] as const

/** Silences KaTeX: warnings about characters, and commands that print, such as `\\message`. Content of messages must not reach a log. */
function unheard<T>(act: () => T): T {
  const outputs = OUTPUTS.map((name) => console[name])
  for (const name of OUTPUTS) console[name] = () => {}
  try {
    return act()
  } finally {
    for (const [at, name] of OUTPUTS.entries()) console[name] = outputs[at] ?? console[name]
  }
}

/**
 * `$$formula$$` on one line, not adjacent to a word. A dollar sign inside needs a backslash; the first character must not be `_` or `$`.
 */
export function formulas(formulas: MathRenderer): Pattern {
  return (source, found) => {
    if (!source.includes('$$')) return source
    let result = ''
    let end = 0
    for (const { index } of source.matchAll(/(?<![\p{L}\p{N}_$])\$\$(?=[^\n_$])/gu)) {
      if (index < end) continue
      const close = formulaEnd(source, index + 2)
      if (close === null) continue
      const body = source.slice(index + 2, close)
      const html = formulas.inline(found.plain(body))
      const node =
        html === null ? element('span', { class: 'tex-error' }, `$$${body}$$`) : { ...finished(html), tag: 'span' }
      result += source.slice(end, index) + found.take(node, source.slice(index, close + 2))
      end = close + 2
    }
    return result + source.slice(end)
  }
}

/** Offset of the closing `$$`. A backslash before it belongs to the formula, unless the formula would then not end. */
function formulaEnd(source: string, start: number): number | null {
  let otherwise: number | null = null
  let at = start + 1
  while (at < source.length && source[at] !== '$' && source[at] !== '\n') {
    if (source[at] === '\\' && source[at + 1] === '$') {
      if (closes(source, at + 1)) otherwise = at + 1
      at += 1
    }
    at += 1
  }
  return closes(source, at) ? at : otherwise
}

function closes(source: string, at: number): boolean {
  return source.startsWith('$$', at) && !/^[\p{L}\p{N}_$]/u.test(source.slice(at + 2, at + 4))
}

function escapeAll(text: string): string {
  const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#x27;' }
  return text.replace(/[&<>"']/g, (character) => escapes[character]!)
}
