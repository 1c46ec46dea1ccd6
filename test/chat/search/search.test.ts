/** Searching in messages: contract section 5.2, `search`; rows E9, E24. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { highlight, isFound, readSearch } from '../../../firmware/chat/search/search.ts'
import { wordsOf } from '../../../firmware/chat/search/words.ts'

const found = (search: string, topic: string, html: string) => isFound(readSearch(search), topic, html)

describe('Words of a text', () => {
  const TEXTS: readonly [text: string, words: string[]][] = [
    ['Hello, World! x2', ['hello', 'world', 'x2']],
    ['ÉTÉ ﬁnal Ⅳ', ['été', 'final', 'iv']],
    ['日本語 desu', ['日本', '本語', '語', 'desu']],
    ['v1.2日', ['v1', '2', '日']],
    ['', []],
    ['— … !', []],
  ]
  for (const [text, words] of TEXTS) {
    it(`of ${JSON.stringify(text)}`, () =>
      assert.deepEqual(
        wordsOf(text).map((word) => word.text),
        words,
      ))
  }
})

describe('A text of ASCII', () => {
  it('has the words, in the places, that it has beside other characters', () =>
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii', maxLength: 60 }), (text) => {
        const beside = wordsOf(`${text} é`)
        assert.deepEqual(beside.pop(), { text: 'é', from: text.length + 1, to: text.length + 2 })
        assert.deepEqual(wordsOf(text), beside)
      }),
      { numRuns: 2000 },
    ))
})

describe('A search', () => {
  const html = '<p>The quick <strong>brown</strong> fox &amp; 日本語, <a href="/fence">jumps</a></p>'
  const CASES: readonly [search: string, isFound: boolean][] = [
    ['quick', true],
    ['QUICK fox', true],
    ['qui', true],
    ['qu', false],
    ['uick', false],
    ['topical', true],
    ['topical quick', true],
    ['quick slow', false],
    ['"quick brown"', true],
    ['"brown quick"', false],
    ['"quick bro"', false],
    ['"fox jumps"', false],
    ['fence', false],
    ['amp', false],
    ['strong', false],
    ['日本', true],
    ['日本語', true],
    ['本', true],
    ['日語', false],
    ['日本v2', false],
    ['"', false],
    ['', false],
    ['!!', false],
  ]
  for (const [search, expected] of CASES) {
    it(`for ${JSON.stringify(search)} ${expected ? 'finds' : 'does not find'} it`, () =>
      assert.equal(found(search, 'Topical matters', html), expected))
  }

  it('goes on from characters without spaces to others', () => {
    assert.ok(found('日本v2', '', '<p>日本v2</p>'))
    assert.ok(found('本v2', '', '<p>日本v2</p>'))
    assert.ok(!found('日本v2', '', '<p>日本語v2</p>'))
    assert.ok(found('豈豈ꀀ', '', '<p>豈豈ꀀ</p>'))
    assert.ok(found('ラー', '', '<p>ラーメン</p>'))
    assert.ok(found('ラーメン', '', '<p>ﾗｰﾒﾝ</p>'))
    assert.ok(found('人々', '', '<p>人々の</p>'))
  })

  it('highlights what it finds, never in tags', () => {
    const text = '<p>The quick <strong>brown</strong> fox; quickly, <a href="/quick">日本語</a></p>'
    assert.equal(
      highlight(readSearch('quick "brown fox" 日本語'), text),
      '<p>The <span class="highlight">quick</span> <strong><span class="highlight">brown</span></strong> <span class="highlight">fox</span>; <span class="highlight">quickly</span>, <a href="/quick"><span class="highlight">日本語</span></a></p>',
    )
  })

  it('changes nothing but for the highlights, whatever it is given', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '日', '本', '<', '>', '&', ';', '"', 'é') })
    fc.assert(
      fc.property(text, text, (search, html) => {
        const result = highlight(readSearch(search), html)
        assert.equal(
          result.replaceAll('<span class="highlight">', '').replaceAll('</span>', ''),
          html.replaceAll('</span>', ''),
        )
      }),
    )
  })

  it('finds each word of a text in it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (text) => {
        const plain = text.replace(/[<>&"]/g, ' ')
        for (const word of plain.split(/\s+/)) assert.equal(found(word, '', plain), readSearch(word).length > 0, word)
      }),
    )
  })
})
