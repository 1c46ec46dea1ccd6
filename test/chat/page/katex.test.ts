/** The page reads every formula that KaTeX can make: each command, environment and symbol of its sources, with arguments of each kind. */

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { MATH } from '../../../firmware/chat-page/message/elements.ts'
import { decodeEntities, type HtmlPart, readHtml, textOf } from '../../../firmware/chat-page/message/reader.ts'
import { html as renderDirectly } from '../render/support.ts'

const SOURCES = join(dirname(fileURLToPath(import.meta.resolve('katex'))), '../src')
const sources = (readdirSync(SOURCES, { recursive: true }) as string[])
  .filter((name) => name.endsWith('.js'))
  .map((name) => [name, readFileSync(join(SOURCES, name), 'utf8')] as const)

const found = (pattern: RegExp, inFiles: (name: string) => boolean = () => true): string[] => [
  ...new Set(
    sources
      .filter(([name]) => inFiles(name))
      .flatMap(([, text]) => [...text.matchAll(pattern)].map(([, group]) => group ?? '')),
  ),
]

const COMMANDS = found(/["'`]\\\\([a-zA-Z]+\*?|[^\s"'`\w])["'`]/g).map((name) => `\\${name}`)
const ENVIRONMENTS = found(/["']([a-zA-Z]+\*?)["']/g, (name) => name.startsWith('environments'))
const SYMBOLS = found(/"\\u([0-9a-fA-F]{4})"/g).map((code) => String.fromCharCode(Number.parseInt(code, 16)))
const ARGUMENTS = [
  ...[
    '',
    '{a}',
    '{a}{b}',
    '{a}{b}{c}',
    '[a]{b}',
    '{1em}',
    '[1em]{1em}{2em}',
    '{red}{a}',
    '{\\text{a<b}}',
    '_1^2',
    '(x)',
  ],
  ...['{https://a.example/?a=1&b}{x}', '{(}{)}{1pt}{0}{a}{b}', '|'],
]

/** Elements that the page creates in a formula. */
function tagsIn(part: HtmlPart): string[] {
  if (typeof part === 'string' || part.tag === 'annotation') return []
  if (part.attributes.class === 'katex-html') return []
  return [part.tag, ...part.children.flatMap(tagsIn)]
}

/** Counts formulas that became one, not an error. */
function read(texts: readonly string[]): number {
  let formulas = 0
  for (const text of texts) {
    const html = renderDirectly(`$$${text}$$`)
    const parts = readHtml(html)
    assert.ok(parts !== null, `${text}: ${html}`)
    assert.equal(textOf(parts), decodeEntities(html.replace(/<[^>]*>/g, '')), text)
    if (!html.includes('class="katex"')) continue
    formulas++
    for (const tag of parts.flatMap(tagsIn))
      assert.ok(MATH.has(tag) || tag === 'p' || tag === 'span', `${text}: ${tag}`)
  }
  return formulas
}

test('every command is read, with and without arguments, as a delimiter, and in text', () => {
  assert.ok(COMMANDS.length > 800, `${COMMANDS.length} commands`)
  const plain = COMMANDS.flatMap((name) => ARGUMENTS.map((after) => `${name}${after}`))
  const inPlaces = COMMANDS.flatMap((name) => [`\\left${name} x \\right.`, `\\text{${name} {a}}`, `x ${name} y`])
  assert.ok(read([...plain, ...inPlaces]) > COMMANDS.length)
})

test('every environment is read', () => {
  assert.ok(ENVIRONMENTS.length > 20, `${ENVIRONMENTS.length} environments`)
  const texts = ENVIRONMENTS.flatMap((name) =>
    ['', '{cc}', '{c|c}', '[r]', '{2}'].map(
      (after) => `\\begin{${name}}${after} a & b \\\\ \\hline c & d \\end{${name}}`,
    ),
  )
  assert.ok(read(texts) > 20)
})

test('every symbol is read', () => {
  assert.ok(SYMBOLS.length > 300, `${SYMBOLS.length} symbols`)
  assert.ok(read(SYMBOLS.flatMap((symbol) => [symbol, `\\mathbf{${symbol}}`, `\\text{${symbol}}`])) > 300)
})
