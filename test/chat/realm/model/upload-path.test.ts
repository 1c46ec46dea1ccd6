/** Names and paths of uploads: rows E130, E131; contract 1.2 and 2.5. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createUrlSigner, SIGNED_URL_PREFIX } from '../../../../firmware/chat/realm/messages/signed-url.ts'
import { asPathId, decoded, newPathId, safeName, shownName } from '../../../../firmware/chat/realm/model/upload-path.ts'
import { systemRandom } from '../../../../firmware/crypto/random.ts'

const PATH_ID = '2/ab/abcdefghijklmnopqrstuvwx/picture.png'

describe('The path of an upload (E130)', () => {
  const NAMES: readonly [given: string, safe: string, shown: string][] = [
    ['picture.png', 'picture.png', 'picture.png'],
    ['My  holiday (1).JPG', 'My-holiday-1.JPG', 'My  holiday (1).JPG'],
    ['/etc/passwd', 'passwd', 'passwd'],
    ['..\\..\\boot.ini', 'boot.ini', 'boot.ini'],
    ['..', 'uploaded-file', '..'],
    ['', 'uploaded-file', 'uploaded-file'],
    ['***', 'uploaded-file', '***'],
    ['données été.txt', 'données-été.txt', 'données été.txt'],
    ['日本語.pdf', '日本語.pdf', '日本語.pdf'],
    ['a\r\nset-cookie: x.txt', 'a-set-cookie-x.txt', 'aset-cookie: x.txt'],
    ['<script>.html', 'script.html', '<script>.html'],
    [`${'x'.repeat(300)}.png`, `${'x'.repeat(196)}.png`, `${'x'.repeat(196)}.png`],
  ]
  for (const [input, safe, shown] of NAMES) {
    it(`of ${JSON.stringify(input.slice(0, 40))}`, () => {
      assert.equal(safeName(input), safe)
      assert.equal(shownName(input), shown)
    })
  }

  it('has a form that is known again, whatever the file is called', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (name) => {
        const pathId = newPathId(2, name, systemRandom)
        assert.equal(asPathId(pathId), pathId)
        assert.equal(asPathId(decoded(encodeURI(pathId))), pathId)
      }),
    )
  })

  it('is another for each upload of the same name', () => {
    assert.notEqual(newPathId(2, 'a.png', systemRandom), newPathId(2, 'a.png', systemRandom))
  })

  it('is refused in any other form', () => {
    for (const path of [
      '',
      '2/ab/abcdefghijklmnopqrstuvwx/',
      '2/ab/abcdefghijklmnopqrstuvwx/..',
      '2/ab/abcdefghijklmnopqrstuvwx/a/b',
      '2/ab/abcdefghijklmnopqrstuvwx/a\0b',
      '2/ab/abcdefghijklmnopqrstuvwx/../../secret',
      '2/AB/abcdefghijklmnopqrstuvwx/a.png',
      '2/ab/short/a.png',
      `/${PATH_ID}`,
      `${PATH_ID}\n`,
    ]) {
      assert.equal(asPathId(path), null, path)
    }
  })
})

describe('A signed URL of an upload (E131)', () => {
  const signer = createUrlSigner(systemRandom(32))
  const nowMs = 1_700_000_000_000
  const rest = (url: string) => decodeURIComponent(url.slice(SIGNED_URL_PREFIX.length))

  it('opens its file for sixty seconds', () => {
    const url = signer.sign(PATH_ID, 7, nowMs)
    assert.ok(url.startsWith(SIGNED_URL_PREFIX))
    assert.deepEqual(signer.open(rest(url), nowMs), { pathId: PATH_ID, userId: 7 })
    assert.deepEqual(signer.open(rest(url), nowMs + 60_000), { pathId: PATH_ID, userId: 7 })
    assert.equal(signer.open(rest(url), nowMs + 61_000), null)
  })

  it('opens no other file, no later, for no other account, and not under another key', () => {
    const url = rest(signer.sign(PATH_ID, 7, nowMs))
    assert.equal(signer.open(url.replace('-7/', '-8/'), nowMs), null)
    assert.equal(signer.open(url.replace('picture', 'pictures'), nowMs), null)
    assert.equal(
      signer.open(
        url.replace(/^\d+/, (expiry) => String(Number(expiry) + 1)),
        nowMs,
      ),
      null,
    )
    assert.equal(createUrlSigner(systemRandom(32)).open(url, nowMs), null)
    for (const malformed of ['', PATH_ID, url.slice(1), url.replace('/', '//')]) {
      assert.equal(signer.open(malformed, nowMs), null)
    }
  })
})
