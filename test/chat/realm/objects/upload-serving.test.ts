/** How uploads are sent: contract 1.2 (media); RFC 9110 section 14, RFC 6266. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fileHeaders, requestedRange } from '../../../../firmware/chat/realm/objects/upload-serving.ts'

describe('An uploaded file', () => {
  it('is shown where a browser runs nothing of it', () => {
    const headers = fileHeaders('picture.PNG', false)
    assert.equal(headers['content-type'], 'image/png')
    assert.equal(headers['content-disposition'], `inline; filename="picture.PNG"; filename*=UTF-8''picture.PNG`)
  })

  it('is a download where it could run scripts, whatever it calls itself', () => {
    for (const name of [
      'page.html',
      'drawing.svg',
      'page.xhtml',
      'feed.xml',
      'script.js',
      'page.html.',
      'noextension',
    ]) {
      const headers = fileHeaders(name, false)
      assert.equal(headers['content-type'], 'application/octet-stream', name)
      assert.match(headers['content-disposition']!, /^attachment; /, name)
    }
  })

  it('acts in a sandbox, and its type is not guessed', () => {
    const headers = fileHeaders('a.pdf', false)
    assert.match(headers['content-security-policy']!, /default-src 'none'.*sandbox/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
  })

  it('is a download on request', () => {
    assert.match(fileHeaders('a.png', true)['content-disposition']!, /^attachment; /)
  })

  it('has a name that cannot end its header', () => {
    const disposition = fileHeaders(`"a\r\n';été%00(1)*.txt`, false)['content-disposition']!
    assert.match(disposition, /^inline; filename="[\x20-\x7e]*"; filename\*=UTF-8''[A-Za-z0-9%._~!-]+$/)
    assert.ok(disposition.includes('%C3%A9t%C3%A9'))
  })
})

describe('A range of a file of 1000 bytes', () => {
  const RANGES: readonly [header: string | undefined, expected: ReturnType<typeof requestedRange>][] = [
    [undefined, null],
    ['', null],
    ['bytes=0-', { from: 0, to: 1000 }],
    ['bytes=0-0', { from: 0, to: 1 }],
    ['bytes=100-199', { from: 100, to: 200 }],
    ['bytes=900-5000', { from: 900, to: 1000 }],
    ['bytes=-100', { from: 900, to: 1000 }],
    ['bytes=-5000', { from: 0, to: 1000 }],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=1000-', 'unsatisfiable'],
    ['bytes=5-1', null],
    ['bytes=-', null],
    ['bytes=0-1,5-6', null],
    ['lines=0-1', null],
  ]
  for (const [header, expected] of RANGES) {
    it(`of ${header}`, () => assert.deepEqual(requestedRange(header, 1000), expected))
  }

  it('of an empty file is all of it or nothing', () => {
    assert.equal(requestedRange(undefined, 0), null)
    assert.equal(requestedRange('bytes=0-', 0), 'unsatisfiable')
  })
})
