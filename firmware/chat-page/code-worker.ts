/** Splits code into tokens, in a worker, since hostile text can take minutes. The page ends it then. */

import highlighter from 'highlight.js/lib/common'
import { grammarOf } from './message/code-languages.ts'
import type { CodeToken } from './message/code-tokens.ts'

interface Worker {
  onmessage: (event: { data: { language: string; code: string } }) => void
  postMessage(tokens: readonly CodeToken[]): void
}

/** A part of the code, as highlight.js has it. */
interface Part {
  readonly scope?: string
  readonly children: readonly (Part | string)[]
}

const worker = globalThis as unknown as Worker

worker.onmessage = ({ data: { language, code } }) => {
  const grammar = grammarOf(language)
  if (grammar === undefined) return worker.postMessage([])
  const { _emitter: emitter } = highlighter.highlight(code, { language: grammar, ignoreIllegals: true })
  worker.postMessage(joined(tokensOf((emitter as unknown as { root: Part }).root, '')))
}
worker.postMessage([]) // ready

function joined(tokens: Iterable<CodeToken>): CodeToken[] {
  const all: [scope: string, text: string][] = []
  for (const [scope, text] of tokens) {
    const last = all.at(-1)
    if (last?.[0] === scope) last[1] += text
    else all.push([scope, text])
  }
  return all
}

function* tokensOf({ scope, children }: Part, outer: string): Generator<CodeToken> {
  const own = scope ?? outer
  for (const child of children)
    if (typeof child === 'string') yield [own, child]
    else yield* tokensOf(child, own)
}
