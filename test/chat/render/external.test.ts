/** Pictures and videos of other hosts: contract section 6.3. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { foreignFetches } from '../support/foreign-hosts.ts'
import { html, rendered, upstreamCases } from './support.ts'

const OFF = { externalPreviews: false }
const PHOTO = '/user_uploads/2/ab/x/photo.png'

for (const address of ['https://a.example/b.png', 'http://a.example/b.GIF?c#d', 'https://a.example/film.mp4'])
  for (const [text, wanted] of [
    [address, `<p><a href="${address}">${address}</a></p>`],
    [`[b](${address})`, `<p><a href="${address}">b</a></p>`],
    [`* [b](${address})`, `<ul>\n<li><a href="${address}">b</a></li>\n</ul>`],
  ] as const)
    test(`without external previews ${text} stays a link`, () => {
      assert.equal(html(text, OFF), wanted)
      assert.equal(rendered(text, OFF).hasImage, false)
    })

test('with external previews the same links have previews', () => {
  assert.match(html('https://a.example/b.png'), /<img src="https:\/\/a\.example\/b\.png">/)
  assert.match(
    html('[b](https://a.example/film.mp4)'),
    /<video preload="metadata" src="https:\/\/a\.example\/film\.mp4">/,
  )
})

for (const externalPreviews of [true, false])
  for (const [text, wanted] of [
    ['![alt](https://a.example/b.png)', '<p><a href="https://a.example/b.png">alt</a></p>'],
    ['![](https://a.example/b.png)', '<p><a href="https://a.example/b.png">https://a.example/b.png</a></p>'],
    ['![alt](https://a.example/film.mp4)', '<p><a href="https://a.example/film.mp4">alt</a></p>'],
    ['![alt](/static/b.png)', '<p><a href="/static/b.png">alt</a></p>'],
    ['![never](/user_uploads/2/ab/y/b.png)', '<p><a href="/user_uploads/2/ab/y/b.png">never</a></p>'],
  ] as const)
    test(`${text} is a link, external previews ${externalPreviews ? 'or not' : 'off'}`, () => {
      assert.equal(html(text, { externalPreviews }), wanted)
      assert.equal(rendered(text, { externalPreviews }).hasImage, false)
    })

test('a plain link takes no preview from a link to the same address', () => {
  const address = 'https://a.example/b.png'
  assert.equal(html(`![alt](${address})\n\n[b](${address})`).match(/<img/g)?.length, 1)
})

test('uploads are shown whether external previews are on or off', () => {
  const text = `![sea](${PHOTO}) [photo](http://zulip.testserver${PHOTO}) [film](/user_uploads/2/ab/x/film.mp4)`
  assert.equal(html(text, OFF), html(text))
  assert.match(html(text, OFF), /<img alt="sea" class="inline-image" .*<img data-.*<video /s)
})

const cases = upstreamCases()

test("no case of upstream's names another host to fetch", { skip: cases === null && 'no vectors here' }, () => {
  let withOthers = 0
  for (const { input } of cases!.regular_tests) {
    if (foreignFetches(html(input)).length > 0) withOthers++
    assert.deepEqual(foreignFetches(html(input, OFF)), [], input)
  }
  assert.ok(withOthers > 0)
})
