import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html, rendered } from './support.ts'

const PHOTO = '/user_uploads/2/ab/x/photo.png'
const DATA = 'data-original-content-type="image/png" data-original-dimensions="640x480"'

const CASES: [string, string][] = [
  [
    `[photo.png](${PHOTO})`,
    `<p><a href="${PHOTO}">photo.png</a></p>\n<div class="message_inline_image"><a href="${PHOTO}" title="photo.png"><img ${DATA} src="${PHOTO}"></a></div>`,
  ],
  [
    'https://a.example/b.png',
    '<div class="message_inline_image"><a href="https://a.example/b.png"><img src="https://a.example/b.png"></a></div>',
  ],
  [
    '* https://a.example/b.png',
    '<ul>\n<li><div class="message_inline_image"><a href="https://a.example/b.png"><img src="https://a.example/b.png"></a></div></li>\n</ul>',
  ],
  [
    '> https://a.example/b.png',
    '<blockquote>\n<p><a href="https://a.example/b.png">https://a.example/b.png</a></p>\n</blockquote>',
  ],
  [`![sea](${PHOTO})`, `<p><img alt="sea" class="inline-image" ${DATA} src="${PHOTO}"></p>`],
  ['![paper](/user_uploads/2/ab/x/paper.pdf)', '<p><a href="/user_uploads/2/ab/x/paper.pdf">paper</a></p>'],
  [
    '[film](/user_uploads/2/ab/x/film.mp4)',
    '<p><a href="/user_uploads/2/ab/x/film.mp4">film</a></p>\n<div class="message_inline_image message_inline_video"><a href="/user_uploads/2/ab/x/film.mp4" title="film"><video preload="metadata" src="/user_uploads/2/ab/x/film.mp4"></video></a></div>',
  ],
  [
    '[a](/user_uploads/2/ab/x/song.mp3)',
    '<p><audio controls preload="metadata" src="/user_uploads/2/ab/x/song.mp3" title="a"></audio></p>',
  ],
]

for (const [text, wanted] of CASES)
  test(`previews ${text}`, () => {
    assert.equal(html(text), wanted)
  })

test('a picture that was never uploaded has no preview', () => {
  assert.equal(html('[a](/user_uploads/2/ab/y/b.png)'), '<p><a href="/user_uploads/2/ab/y/b.png">a</a></p>')
})

test('two pictures of a paragraph follow it in their order, before the next paragraph', () => {
  const output = html('one https://a.example/1.png two https://a.example/2.png\n\nnext')
  assert.deepEqual(output.match(/src="[^"]*"|next/g), [
    'src="https://a.example/1.png"',
    'src="https://a.example/2.png"',
    'next',
  ])
})

test('previews are off if the organization disables them, and from the twenty-fifth on', () => {
  assert.equal(html('https://a.example/b.png', { imagePreviews: false }).includes('<img'), false)
  const pictures = (count: number) =>
    Array.from({ length: count }, (_, index) => `https://a.example/${index}.png`).join('\n')
  assert.equal(html(pictures(24)).match(/<img/g)?.length, 24)
  assert.equal(html(pictures(25)).match(/<img/g), null)
})

test('says whether a text has links and pictures, and which files it claims', () => {
  const none = rendered('text')
  assert.deepEqual([none.hasLink, none.hasImage, none.uploads], [false, false, []])
  const photo = rendered(`[a](${PHOTO}) http://zulip.testserver${PHOTO} > [b](http://other.example/user_uploads/2/c)`)
  assert.deepEqual([photo.hasLink, photo.hasImage, photo.uploads], [true, true, ['2/ab/x/photo.png']])
  assert.deepEqual(rendered('> [a](/user_uploads/2/ab/x/paper.pdf)').uploads, ['2/ab/x/paper.pdf'])
  assert.equal(rendered(`![a](${PHOTO})`).hasImage, true)
})
