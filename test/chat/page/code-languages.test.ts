/** The page finds the grammar of a language by the name that the server writes. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import highlighter from 'highlight.js/lib/common'
import { canonicalLanguage } from '../../../firmware/chat/data/languages.ts'
import { grammarOf } from '../../../firmware/chat-page/message/code-languages.ts'

const LIKE_ANOTHER = new Set(['shell']) // Pygments: a name of Bash

test('each language with a grammar is found under the name that the server writes for each of its aliases', () => {
  const languages = highlighter.listLanguages()
  assert.ok(languages.length > 30)
  for (const language of languages)
    for (const alias of [language, ...(highlighter.getLanguage(language)?.aliases ?? [])]) {
      const written = canonicalLanguage(alias.toLowerCase())
      const found = highlighter.getLanguage(grammarOf(written) ?? '')
      const wanted = LIKE_ANOTHER.has(alias) ? 'bash' : language
      assert.ok(found === highlighter.getLanguage(wanted), `${alias}, written as ${written}`)
    }
})

test('a language without a grammar, and a name of no language, are not found', () => {
  for (const name of ['brainfuck', 'constructor', '__proto__', '', 'nonsense'])
    assert.equal(grammarOf(canonicalLanguage(name)), undefined, name)
})
