// @test short slow
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { HTML_CHARACTERS_MAX, RenderedTooLong } from '../../../firmware/chat/render/html.ts'
import { CompiledLinkifier } from '../../../firmware/chat/render/linkifiers.ts'
import { html, settings, upstreamCases } from './support.ts'

const RUNS = process.env.COFFER_SLOW === undefined ? 3000 : 1_000_000

const PIECES = [
  ...'*_~`[]()<>#|:@!$&\\"\'-+.1 \n\ta'.split(''),
  ...[
    '**',
    '***',
    '~~',
    '``',
    '```\n',
    '```',
    '~~~\n',
    '```quote\n',
    '```spoiler x\n',
    '```math\n',
    '````js\n',
    '> ',
    '>> ',
  ],
  ...[
    '* ',
    '  * ',
    '    * ',
    '1. ',
    '  1. ',
    '# ',
    '###### ',
    '---\n',
    '- - -\n',
    '    x\n',
    '\n\n',
    '|a|b|\n',
    '|-|-|\n',
  ],
  ...[
    'a|b\n-|-\n',
    '$$',
    '$$x$$',
    '\\$',
    '@**',
    '@**Zoe**',
    '@_*support*',
    '@*',
    '#**',
    '#**ch>t**',
    '#**ch>t@1**',
    '#1 ',
  ],
  ...[
    '<time:',
    '<time:1>',
    '[a](',
    '[a](b)',
    '![a](',
    '("',
    '](<',
    '")',
    'http://',
    'https://a.b/c.png ',
    'a.com/(',
    'x@y.zz',
  ],
  ...[
    '/user_uploads/2/ab/x/photo.png',
    'javascript:',
    'data:text/html,',
    ':smile:',
    ':zulip:',
    ':)',
    '😀',
    '👨‍👩‍👧',
    '🇩🇪',
    '#️⃣',
  ],
  ...[
    '&amp;',
    '&#60;',
    '&lt',
    '<b>',
    '</p>',
    '<script>',
    '<!--',
    ']]>',
    '\0',
    '\u0002',
    '\uFDD1',
    '0\uFDD2',
    '\uD800',
    '\u2028',
  ],
]
const text = fc.array(fc.constantFrom(...PIECES), { maxLength: 60 }).map((pieces) => pieces.join(''))
const upstream = (upstreamCases()?.regular_tests ?? []).map(({ input }) => input)
const damaged = fc
  .tuple(fc.constantFrom('', ...upstream), fc.nat(400), fc.nat(8), fc.constantFrom(...PIECES))
  .map(([input, at, length, piece]) => input.slice(0, at) + piece + input.slice(at + length))

test(`whatever a text is, its HTML is well-formed, of known elements only, and always the same; ${RUNS} texts`, () => {
  fc.assert(
    fc.property(fc.oneof(text, damaged, fc.string({ maxLength: 60 })), (input) => {
      const output = html(input, { translateEmoticons: true })
      assertWellFormed(output)
      assert.equal(html(input, { translateEmoticons: true }), output)
    }),
    { numRuns: RUNS },
  )
})

/** Repeated, each would take minutes if a stage looked back or ahead over all of a text for each of its pieces. */
const REPEATED = [
  ...PIECES,
  ...[
    '[a]("',
    '[[',
    '](',
    '[a](<',
    '((',
    'http://a/(',
    ',http://a/(',
    '(a@b.c,',
    'a.',
    '`a``',
    '\\`',
    '*a',
    '**a',
    '^*a',
    '$$a',
  ],
  ...[
    '\\$$',
    '@**a',
    '#**a>',
    '#**a>b@',
    '<time:1',
    ':a',
    '&a',
    '1. # a\n   # b\n',
    '1. a\n\n',
    '#\n',
    '> a\n\n',
    '    x\n\n',
  ],
  ...['|', '|\n', '|`', '- a\n  - b\n    - c\n', '* * ', '> * ', '```quote\na\n', '```a', 'a#1', '_ '],
]
/** Ten times what a message may have: what grows with the square of it would not end in the time of the test. */
const CHARACTERS = 100_000

test('no repeated piece holds up the renderer', { timeout: 600_000 }, () => {
  for (const piece of REPEATED)
    for (const input of [piece, `${piece}x`].map((unit) => unit.repeat(CHARACTERS / unit.length)))
      try {
        assertWellFormed(html(input, { linkifiers: [] }))
      } catch (error) {
        assert.ok(error instanceof RenderedTooLong, `${JSON.stringify(piece)}: ${(error as Error).stack}`)
      }
})

/** Each match of it looks for a `b` up to the end of the line. */
const LOOKS_FAR = new CompiledLinkifier({ pattern: '(?P<id>a.*b|a)', urlTemplate: 'https://x.example/{id}' })
const linksOf = (output: string): number => output.match(/<a /g)?.length ?? 0

test('linkifiers find what is in lines as people write them, and in longer ones as much as half a second allows for all', () => {
  const lines = `${'a '.repeat(50)}\n`.repeat(30)
  assert.equal(linksOf(html(lines, { linkifiers: [LOOKS_FAR] })), 1500)
  const line = 'a '.repeat(5000)
  const once = linksOf(html(line, { linkifiers: [LOOKS_FAR] }))
  assert.ok(once > 50 && once < 500, `${once} links`)
  const all = linksOf(html(line, { linkifiers: Array(100).fill(LOOKS_FAR) }))
  assert.ok(all <= once, `${all} links of a hundred linkifiers`)
})

test('no match of a linkifier goes on in another line', () => {
  const acrossLines = new CompiledLinkifier({ pattern: 'x(?P<id>[^z]*)y', urlTemplate: 'https://x.example/{id}' })
  const output = html('x1y and x2\ny, x3y\nx4y', { linkifiers: [acrossLines] })
  assert.deepEqual(
    [...output.matchAll(/example\/(\d)"/g)].map(([, id]) => id),
    ['1', '3', '4'],
  )
})

test('nothing of a formula gets to the console, whatever KaTeX thinks of its characters', (context) => {
  const warn = context.mock.method(console, 'warn', () => {})
  assert.match(html('$$ 😀 $$'), /katex/)
  assert.equal(warn.mock.callCount(), 0)
  assert.equal(console.warn, warn)
})

test('a table of millions of cells is refused before it is made', () => {
  const input = `${'|'.repeat(1500)}\n${'|-'.repeat(1499)}|\n${'x\n'.repeat(2000)}`
  assert.throws(() => html(input), RenderedTooLong)
})

test('HTML that is longer than clients take is refused', () => {
  assert.throws(() => html(':smile: '.repeat(HTML_CHARACTERS_MAX / 40)), RenderedTooLong)
})

test('what nests deeper than anybody writes stays text', () => {
  for (const input of ['> '.repeat(5000), '* '.repeat(5000), '```quote\n'.repeat(1000)]) {
    const output = html(`${input}a`, settings)
    assert.ok(output.match(/<(?:blockquote|ul)>/g)!.length <= 40)
    assertWellFormed(output)
  }
})

const VOID = new Set(['br', 'hr', 'img'])
const ATTRIBUTES: Record<string, RegExp> = {
  a: /^(?:class|data-stream-id|href|title)$/,
  audio: /^(?:controls|preload|src|title)$/,
  div: /^(?:aria-hidden|class|data-code-language)$/,
  img: /^(?:alt|class|data-original-content-type|data-original-dimensions|src|title)$/,
  ol: /^start$/,
  span: /^(?:aria-hidden|aria-label|class|data-user-group-id|data-user-id|role|style|title)$/,
  td: /^style$/,
  th: /^style$/,
  time: /^datetime$/,
  video: /^(?:preload|src)$/,
}
const PLAIN = new Set(
  'blockquote br code del em h1 h2 h3 h4 h5 h6 hr li p pre strong table tbody thead tr ul'.split(' '),
)
const FORMULA = /^(?:math|semantics|annotation|m[a-z]+|svg|path|line)$/
const ADDRESS = /^(?:https?:|ftp:|file:|mailto:|[a-z0-9]+:(?!\/\/)|\/|#|user_uploads\/)/

/** Every element is known, closed in order, and its attributes are known and cannot run anything. */
function assertWellFormed(output: string): void {
  const open: string[] = []
  const rest = output.replace(
    /<(\/?)([a-z][a-z0-9]*)((?: [a-zA-Z-]+(?:="[^"<>]*")?)*)(\/?)>/g,
    (_, close, tag, attributes, ended) => {
      if (close === '/') assert.equal(open.pop(), tag)
      else {
        if (!VOID.has(tag) && ended === '') open.push(tag)
        if (FORMULA.test(tag)) assert.ok(open.includes('math') || open.includes('span'))
        else
          for (const [, name, value] of (attributes as string).matchAll(/ ([a-zA-Z-]+)(?:="([^"]*)")?/g)) {
            assert.match(name!, ATTRIBUTES[tag] ?? /^$/, `${tag} with ${name}`)
            if (name === 'href' || name === 'src') assert.match(value!, ADDRESS)
            if (name === 'href' || name === 'src') assert.doesNotMatch(value!, /^(?:javascript|data|vbscript):/i)
          }
        assert.ok(FORMULA.test(tag) || PLAIN.has(tag) || tag in ATTRIBUTES, `<${tag}> is no element of ours`)
      }
      return ''
    },
  )
  assert.deepEqual(open, [])
  assert.doesNotMatch(rest, /[<>]/)
  assert.doesNotMatch(rest, /[\uFDD0-\uFDD2]/)
}
