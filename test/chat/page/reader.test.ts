// @test short slow
/** The page reads all HTML that the renderer writes for messages; nothing else becomes an element. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { namedHost, ownMedia, safeLink } from '../../../firmware/chat-page/message/links.ts'
import { decodeEntities, type HtmlPart, readHtml, textOf } from '../../../firmware/chat-page/message/reader.ts'
import { html as renderDirectly, upstreamCases } from '../render/support.ts'
import { chatSuite } from '../support/suite.ts'

const cases = upstreamCases()

const { rig, hamlet } = await chatSuite({ hamlet: 'member' })
rig.channel('general', [hamlet])

const render = async (content: string): Promise<string> => (await hamlet.post('/messages/render', { content })).rendered

const TEXTS = [
  'plain & <b>no tag</b> &copy; &#x1f600;',
  '**bold** *italic* ~~gone~~ `code <i>` [a](https://example.org/?a=1&b="2") https://example.org/é',
  '# One\n## Two\n\n* a\n  * b\n1. c\n\n> quoted\n\n---',
  '```python\nprint("<x>" + \'"\')\n```',
  '```math\n\\frac{a}{b} \\begin{matrix} 1 & 2 \\\\ 3 & 4 \\end{matrix} \\sqrt[3]{x} \\text{a<b}\n```',
  '$$\\overbrace{x+y}^{z}$$ $$\\color{red} x \\not= \\mathbb{R}$$ $$\\bad$$',
  '```spoiler A *header*\ntext\n```',
  '| a | b |\n|:-:|--:|\n| 1 | `|` |',
  '@**all** @**Hamlet Test** @_**Hamlet Test** #**general** #**general>topic** :smile: :zulip: 🙂 <time:2026-11-29T09:00:00Z>',
  '/poll question\nyes\nno',
]

test('all that the renderer makes is read, and its text is the text', async () => {
  for (const text of TEXTS) {
    const html = await render(text)
    const parts = readHtml(html)
    assert.ok(parts !== null, html)
    assert.equal(textOf(parts), decodeEntities(html.replace(/<[^>]*>/g, '')), html)
  }
})

test('random texts of the signs that mean something are read, too', async () => {
  const sign = fc.constantFrom(
    ...[
      '*',
      '**',
      '_',
      '`',
      '```\n',
      '~~~',
      '> ',
      '# ',
      '\n',
      '\n\n',
      '* ',
      '1. ',
      '|',
      '|-|',
      '$$',
      '[',
      '](',
      ')',
      ':',
    ],
    ...[
      '<',
      '>',
      '&',
      '&amp;',
      '"',
      "'",
      '&lt;script&gt;',
      '@**',
      '#**',
      'https://a.b',
      'smile',
      '```spoiler ',
      '```math\n',
    ],
    ...[
      '\\frac{1}{2}',
      '\\sqrt',
      'x',
      ' ',
      '\u{1f642}',
      '\u202e',
      '</p>',
      '<img src=x onerror=alert(1)>',
      'data-id="1"',
    ],
  )
  await fc.assert(
    fc.asyncProperty(fc.array(sign, { minLength: 1, maxLength: 40 }), async (signs) => {
      const content = signs.join('')
      if (content.trim() === '') return
      const html = await render(content)
      const parts = readHtml(html)
      assert.ok(parts !== null, JSON.stringify([content, html]))
      assert.equal(textOf(parts), decodeEntities(html.replace(/<[^>]*>/g, '')))
    }),
    { numRuns: 2000 },
  )
})

test('whatever is not in that form is not read', () => {
  for (const html of [
    '<p>open',
    'closed</p>',
    '<p><b></p></b>',
    '<p onclick=alert(1)>x</p>',
    "<p title='x'>x</p>",
    '<p title="x>x</p>',
    '<P>x</P>',
    '<!-- x -->',
    '<![CDATA[x]]>',
    '<?xml?>',
    '< p>x</p>',
    '<p\n>x</p>',
    '<p title="<">x</p>',
    '<',
    '<p></p',
    '<b>'.repeat(300) + '</b>'.repeat(300),
  ])
    assert.equal(readHtml(html), null, html)
})

test('attributes and entities are read once', () => {
  const [node] = readHtml(
    '<a href="https://x.y/?a&amp;quot;" class="stream">&amp;lt;b&amp;gt; &#60; &#x3c; &nbsp;&zzz; &#0; &#xd800;</a>',
  )!
  assert.ok(typeof node === 'object')
  assert.equal(node.attributes.href, 'https://x.y/?a&quot;')
  assert.deepEqual(node.children, ['&lt;b&gt; < < \u00a0&zzz; \ufffd \ufffd'] satisfies HtmlPart[])
  const [evil] = readHtml('<a __proto__="x" constructor="y">z</a>') ?? [null]
  assert.equal(evil, null, 'underscores are in no attribute of ours')
})

const ORIGIN = 'https://chat.example'

test('links lead to the web, to mail, and to this page; scripts and data nowhere', () => {
  for (const href of [
    'javascript:alert(1)',
    ' java\nscript:alert(1)',
    'data:text/html,x',
    'file:///etc',
    'blob:x',
    'https://',
  ])
    assert.equal(safeLink(href, ORIGIN), null, href)
  assert.deepEqual(safeLink('/#narrow/channel/9-ch', ORIGIN), {
    href: '#narrow/channel/9-ch',
    isOwn: true,
    host: 'chat.example',
  })
  assert.equal(safeLink('/user_uploads/2/a/b/c.txt', ORIGIN)!.href, `${ORIGIN}/user_uploads/2/a/b/c.txt`)
  assert.equal(safeLink('//evil.example/x', ORIGIN)!.host, 'evil.example')
  assert.equal(safeLink('mailto:a@b.c', ORIGIN)!.href, 'mailto:a@b.c')
})

test('media are fetched from the uploads of this server alone', () => {
  assert.equal(ownMedia('/user_uploads/2/a/b/c.png', ORIGIN), '/user_uploads/2/a/b/c.png')
  for (const src of [
    'https://evil.example/user_uploads/x.png',
    '//evil.example/user_uploads/x.png',
    '/api/v1/events',
    '/user_uploads/../api/v1/events',
    '/user_uploads/%2e%2e/api/v1/events',
    '\\\\evil.example\\user_uploads\\x',
    'data:image/png;base64,x',
    'javascript:alert(1)',
  ])
    assert.equal(ownMedia(src, ORIGIN), null, src)
})

test('a text that looks like an address names its host', () => {
  assert.equal(namedHost('https://bank.example/login'), 'bank.example')
  assert.equal(namedHost(' bank.example '), 'bank.example')
  assert.equal(namedHost('http://user@bank.example:8080/'), 'bank.example')
  assert.equal(namedHost('10.0.0.1/x'), '10.0.0.1')
  for (const text of ['the runbook', 'a.b c', 'file.', '', 'http://'])
    assert.ok([null, 'a.b'].includes(namedHost(text)), text)
})

test("upstream's fixtures are read, as upstream and as this server render them", {
  skip: cases === null && 'no vectors here',
}, () => {
  let read = 0
  for (const { name, input, expected_output: theirs } of cases!.regular_tests)
    for (const html of [theirs, renderDirectly(input)]) {
      const parts = readHtml(html)
      assert.ok(parts !== null, `${name}: ${html}`)
      assert.equal(textOf(parts), decodeEntities(html.replace(/<[^>]*>/g, '')), name)
      read++
    }
  assert.ok(read > 200)
})

const RANDOM_TEXTS = process.env.COFFER_SLOW === '1' ? 1_000_000 : 10_000

test('many random texts, formulas among them, are read', () => {
  const sign = fc.constantFrom(
    ...'* ** _ ` ~~ > # | $$ [ ]( ) : < > & " @** #** ** \\ { } ^ x 1 é \n'.split(' '),
    ...[
      '\n',
      '\n\n',
      ' ',
      '```\n',
      '```math\n',
      '```spoiler ',
      '\\frac{a}{b}',
      '\\sqrt[3]{x}',
      '\\begin{matrix}1&2\\\\3&4\\end{matrix}',
    ],
    ...[
      '\\left(',
      '\\right)',
      '\\overline{',
      '\\text{a<b}',
      '\\color{red}',
      '\\mathbb{R}',
      'https://a.b/c?d=1&e',
      '&nbsp;',
      '\u202e',
    ],
  )
  fc.assert(
    fc.property(fc.array(sign, { minLength: 1, maxLength: 24 }), (signs) => {
      const html = renderDirectly(signs.join(''))
      const parts = readHtml(html)
      assert.ok(parts !== null, html)
      assert.equal(textOf(parts), decodeEntities(html.replace(/<[^>]*>/g, '')))
    }),
    { numRuns: RANDOM_TEXTS },
  )
})
