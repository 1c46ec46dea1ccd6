/**
 * How the official app parses content: for each construct that its model knows (zulip-flutter, lib/model/content.dart) a
 * source and the HTML of it that the app expects. Left out are colors of code and the inside of formulas (contract section 6).
 * Where the app's pairs have it otherwise, the contract decides, and the app's model takes either: a formula's paragraph has no
 * line break at its end (6.1, `math`), marks within the text of a link stay as typed, since links come before them (6.2 is in
 * order of priority), and pictures are not made smaller (6.3, without thumbnailing; section 12).
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html } from './support.ts'

const formula = (source: string, isBlock = false): string =>
  `<span class="katex"><span class="katex-mathml"><math xmlns="http://www.w3.org/1998/Math/MathML"${isBlock ? ' display="block"' : ''}>` +
  `<semantics>…<annotation encoding="application/x-tex">${source}</annotation></semantics></math></span>` +
  '<span class="katex-html" aria-hidden="true">…</span></span>'
const display = (source: string): string => `<span class="katex-display">${formula(source, true)}</span>`

const spoiler = (header: string, content: string): string =>
  `<div class="spoiler-block"><div class="spoiler-header">\n${header}</div>` +
  `<div class="spoiler-content" aria-hidden="true">\n${content}\n</div></div>`

const table = (head: string[], ...rows: string[][]): string =>
  `<table>\n<thead>\n<tr>\n${head.map((cell) => `<th>${cell}</th>\n`).join('')}</tr>\n</thead>\n<tbody>\n` +
  rows.map((cells) => `<tr>\n${cells.map((cell) => `<td>${cell}</td>\n`).join('')}</tr>\n`).join('') +
  '</tbody>\n</table>'

const PHOTO = '/user_uploads/2/ab/x/photo.png'
const PICTURE =
  `<div class="message_inline_image"><a href="${PHOTO}" title="p"><img data-original-content-type="image/png" ` +
  `data-original-dimensions="640x480" src="/user_uploads/2/ab/x/photo.png"></a></div>`

const INLINE: Record<string, [source: string, wanted: string]> = {
  strong: ['**heavy**', '<strong>heavy</strong>'],
  emphasis: ['*slanted*', '<em>slanted</em>'],
  deleted: ['~~gone for good~~', '<del>gone for good</del>'],
  code: ['`a b`', '<code>a b</code>'],
  'all of them, nested': ['~~***`x`***~~', '<del><strong><em><code>x</code></em></strong></del>'],
  'a line break': ['one\ntwo', 'one<br>\ntwo'],
  link: ['[t](https://example/)', '<a href="https://example/">t</a>'],
  'code within a link': ['[`x`](https://example/)', '<a href="https://example/"><code>x</code></a>'],
  'marks within a link': ['[**t** *u*](https://example/)', '<a href="https://example/">**t** *u*</a>'],
  'a link within marks': ['~~***[t](/u)***~~', '<del><strong><em><a href="/u">t</a></em></strong></del>'],
  channel: ['#**ch**', '<a class="stream" data-stream-id="9" href="/#narrow/channel/9-ch">#ch</a>'],
  'message of a topic': [
    '#**ch>a topic@17**',
    '<a class="message-link" href="/#narrow/channel/9-ch/topic/a.20topic/near/17">#ch &gt; a topic @ 💬</a>',
  ],
  user: ['@**Zoe**', '<span class="user-mention" data-user-id="7">@Zoe</span>'],
  'user, silently': ['@_**Zoe**', '<span class="user-mention silent" data-user-id="7">Zoe</span>'],
  group: ['@*support*', '<span class="user-group-mention" data-user-group-id="17">@support</span>'],
  'group, silently': ['@_*support*', '<span class="user-group-mention silent" data-user-group-id="17">support</span>'],
  'everybody in the channel': [
    '@**all**',
    '<span class="user-mention channel-wildcard-mention" data-user-id="*">@all</span>',
  ],
  'everybody in the channel, silently': [
    '@_**everyone**',
    '<span class="user-mention channel-wildcard-mention silent" data-user-id="*">everyone</span>',
  ],
  topic: ['@**topic**', '<span class="topic-mention">@topic</span>'],
  'topic, silently': ['@_**topic**', '<span class="topic-mention silent">topic</span>'],
  emoji: [
    ':thumbs_up:',
    '<span aria-label="thumbs up" class="emoji emoji-1f44d" role="img" title="thumbs up">:thumbs_up:</span>',
  ],
  'custom emoji': [
    ':green_tick:',
    '<img alt=":green_tick:" class="emoji" src="/user_avatars/2/emoji/images/1.png" title="green tick">',
  ],
  'emoji of Zulip': [
    ':zulip:',
    '<img alt=":zulip:" class="emoji" src="/static/generated/emoji/images/emoji/unicode/zulip.png" title="zulip">',
  ],
  time: ['<time:2024-03-07T15:00:00-08:00>', '<time datetime="2024-03-07T23:00:00Z">2024-03-07T15:00:00-08:00</time>'],
  formula: ['$$ \\mu $$', formula(' \\mu ')],
}

const BLOCKS: Record<string, [source: string, wanted: string]> = {
  paragraphs: ['one\n\ntwo', '<p>one</p>\n<p>two</p>'],
  'a rule': ['one\n\n---\ntwo', '<p>one</p>\n<hr>\n<p>two</p>'],
  headings: ['# a\n## b\n### c\n#### d\n##### e', '<h1>a</h1>\n<h2>b</h2>\n<h3>c</h3>\n<h4>d</h4>\n<h5>e</h5>'],
  'a heading amidst paragraphs': ['one\n###### six\ntwo', '<p>one</p>\n<h6>six</h6>\n<p>two</p>'],
  'marks in a heading': [
    '###### one **~~*[`two`](https://example/)*~~**',
    '<h6>one <strong><del><em><a href="https://example/"><code>two</code></a></em></del></strong></h6>',
  ],
  list: ['* one\n* two', '<ul>\n<li>one</li>\n<li>two</li>\n</ul>'],
  'list that begins at 5': ['5. five\n6. six', '<ol start="5">\n<li>five</li>\n<li>six</li>\n</ol>'],
  'list that begins late': ['9999. a\n10000. b', '<ol start="9999">\n<li>a</li>\n<li>b</li>\n</ol>'],
  'lists in lists': ['1. * ## deep', '<ol>\n<li>\n<ul>\n<li>\n<h2>deep</h2>\n</li>\n</ul>\n</li>\n</ol>'],
  quotation: ['```quote\nsaid\n```', '<blockquote>\n<p>said</p>\n</blockquote>'],
  spoiler: ['```spoiler\nthe end\n```', spoiler('', '<p>the end</p>')],
  'spoiler with a header': ['```spoiler look\nthe end\n```', spoiler('<p>look</p>\n', '<p>the end</p>')],
  'spoiler with a rich header': [
    '```spoiler 1. * ## look\n*the* [end](https://example/)\n```',
    spoiler(
      '<ol>\n<li>\n<ul>\n<li>\n<h2>look</h2>\n</li>\n</ul>\n</li>\n</ol>\n',
      '<p><em>the</em> <a href="https://example/">end</a></p>',
    ),
  ],
  'plain code': ['```\na\nb\n```', '<div class="codehilite"><pre><span></span><code>a\nb\n</code></pre></div>'],
  'code with a language': [
    '```dart\nclass A {}\n```',
    '<div class="codehilite" data-code-language="Dart"><pre><span></span><code>class A {}\n</code></pre></div>',
  ],
  'indented code before a paragraph': [
    '    code\n\ntext',
    '<div class="codehilite"><pre><span></span><code>code\n</code></pre></div>\n\n<p>text</p>',
  ],
  'formula as a block': ['```math\n\\mu\n```', `<p>${display('\\mu')}</p>`],
  'formulas as blocks': ['```math\na\n\nb\n```', `<p>${display('a')}\n\n${display('b')}</p>`],
  'formula in a quotation': [
    '````quote\n```math\n\\mu\n```\n````',
    `<blockquote>\n<p>${display('\\mu')}</p>\n</blockquote>`,
  ],
  picture: [`[p](${PHOTO})`, `<p><a href="${PHOTO}">p</a></p>\n${PICTURE}`],
  table: ['| a | b |\n| - | - |\n| c | d |', table(['a', 'b'], ['c', 'd'])],
  'table with marks': [
    '| a |\n| - |\n| **b** `c` https://example.com |',
    table(['a'], ['<strong>b</strong> <code>c</code> <a href="https://example.com">https://example.com</a>']),
  ],
  'table without a row': ['| a |\n| - |', table(['a'], [''])],
  'table without a cell': ['| a | b |\n| - | - |\n| c |', table(['a', 'b'], ['c', ''])],
  'picture in a table': [
    `| a |\n| - |\n| [p](${PHOTO}) |`,
    `${table(['a'], [`<a href="${PHOTO}">p</a>`])}\n${PICTURE}`,
  ],
}

for (const [name, [source, wanted]] of Object.entries(INLINE))
  test(`inline: ${name}`, () => {
    assert.equal(structure(html(source)), `<p>${wanted}</p>`)
  })

for (const [name, [source, wanted]] of Object.entries(BLOCKS))
  test(`block: ${name}`, () => {
    assert.equal(structure(html(source)), wanted)
  })

test('columns of a table are aligned as written', () => {
  const output = html('| a | b | c | d |\n| - | :- | :-: | -: |\n| e | f | g | h |')
  const aligned = [...output.matchAll(/<t[hd](?: style="text-align: (\w+);")?>/g)].map(([, side]) => side)
  assert.deepEqual(aligned, [undefined, 'left', 'center', 'right', undefined, 'left', 'center', 'right'])
})

function structure(output: string): string {
  return output
    .replace(/(<code>)(.*?)(<\/code>)/gs, (_, open, code, close) => open + code.replace(/<\/?span[^>]*>/g, '') + close)
    .replace(/<semantics>.*?(?=<annotation)/gs, '<semantics>…')
    .replace(
      /(<span class="katex-html" aria-hidden="true">).*?<\/span>(?:<\/span>)*(?=<br>|<\/p>|\n)/gs,
      (tail, open) =>
        // What closes after it: the formula, and around a block the display.
        tail.endsWith('</span></span></span>') && output.includes('katex-display')
          ? `${open}…</span></span></span>`
          : `${open}…</span></span>`,
    )
}
