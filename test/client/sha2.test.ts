/** The same digests as Node's, of every length around the blocks, and however the bytes come. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { fromHex, toHex } from '../../firmware/client/bytes.ts'
import { createSha2, type Sha2Name, sha256 } from '../../firmware/client/sha2.ts'

const NAMES: Sha2Name[] = ['SHA224', 'SHA256', 'SHA384', 'SHA512']
const expected = (name: Sha2Name, bytes: Uint8Array) => createHash(name).update(bytes).digest('hex')

for (const name of NAMES) {
  test(`${name} of every length up to three blocks`, () => {
    const bytes = Uint8Array.from({ length: 400 }, (_, at) => (at * 37) ^ (at >> 3))
    for (let length = 0; length <= bytes.length; length++) {
      const part = bytes.subarray(0, length)
      assert.equal(toHex(createSha2(name).update(part).digest()), expected(name, part), `${length} bytes`)
    }
  })

  test(`${name} of pieces of any length`, () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 }), (pieces) => {
        const hash = createSha2(name)
        for (const piece of pieces) hash.update(piece)
        assert.equal(toHex(hash.digest()), expected(name, Buffer.concat(pieces)))
      }),
    )
  })
}

test('several at once do not disturb each other', () => {
  const [a, b] = [createSha2('SHA256'), createSha2('SHA512')]
  for (let at = 0; at < 100; at++) {
    a.update(Uint8Array.of(at))
    b.update(Uint8Array.of(at))
  }
  const bytes = Uint8Array.from({ length: 100 }, (_, at) => at)
  assert.equal(toHex(a.digest()), expected('SHA256', bytes))
  assert.equal(toHex(b.digest()), expected('SHA512', bytes))
  assert.equal(toHex(sha256(bytes.subarray(0, 40), bytes.subarray(40))), expected('SHA256', bytes))
})

test('hex that is none is refused', () => {
  assert.deepEqual(fromHex('00ff'), Uint8Array.of(0, 255))
  for (const text of ['0', 'zz', '0x', '00 ']) assert.throws(() => fromHex(text))
})
