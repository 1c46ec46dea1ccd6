/** Texts that clients compare, or that people search for, stay as they are: texts.txt lists them, the code has each. */

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { TOKENS } from '../../tools/words.ts'

const ROOT = join(import.meta.dirname, '../..')

const texts = readFileSync(join(import.meta.dirname, 'texts.txt'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))

/** String literals of a source file, with {} for each inserted expression. */
const literalsOf = (source: string): string[] =>
  [...source.matchAll(TOKENS)]
    .map(([token]) => token)
    .filter((token) => /^['"`]/.test(token))
    .map((token) => token.slice(1, -1).replace(/\$\{[^{}]*\}/g, '{}'))

test('the code has every text of the contract, literally', () => {
  const literals = new Set<string>()
  for (const path of globSync('firmware/{chat,http,kms,crypto,base}/**/*.ts', { cwd: ROOT }))
    for (const literal of literalsOf(readFileSync(join(ROOT, path), 'utf8'))) literals.add(literal)
  assert.deepEqual(
    texts.filter((text) => !literals.has(text)),
    [],
  )
})

test('the list has each text once, and those of the contracts that clients are known to compare', () => {
  assert.deepEqual(
    texts.filter((text, index) => texts.indexOf(text) !== index),
    [],
  )
  for (const text of ['Service not available', 'Invalid API key', "Missing '{}' argument", 'request {} {}'])
    assert.ok(texts.includes(text), text)
  assert.ok(texts.some((text) => text.includes('argument length')))
})
