/** HMAC-SHA-256 for remembered credentials. RFC 2104. */

import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import test from 'node:test'
import { KeyedHash } from '../../firmware/crypto/keyed-hash.ts'

test('it is HMAC-SHA-256, whatever came before, for messages of every length and in any number of parts', () => {
  for (const keyBytes of [0, 1, 31, 32, 33, 64]) {
    const key = randomBytes(keyBytes)
    const keyed = new KeyedHash(key)
    for (const bytes of [3000, 0, 1, 63, 64, 65, 1023, 1024, 1025, 100_000, 7]) {
      const message = randomBytes(bytes)
      const expected = createHmac('sha256', key).update(message).digest('hex')
      const [a, b] = [Math.floor(bytes / 3), Math.floor(bytes / 2)]
      assert.equal(keyed.digest(message).toHex(), expected)
      assert.equal(keyed.digest(message.subarray(0, a), message.subarray(a, b), message.subarray(b)).toHex(), expected)
    }
  }
})

test('a key that was wiped makes other hashes than before, and than a key of zero bytes', () => {
  const keyed = new KeyedHash(randomBytes(32))
  const before = keyed.digest(Uint8Array.of(1)).toHex()
  keyed.wipe()
  const after = keyed.digest(Uint8Array.of(1)).toHex()
  assert.notEqual(after, before)
  assert.notEqual(after, createHmac('sha256', new Uint8Array(32)).update(Uint8Array.of(1)).digest('hex'))
})
