// @test long 30 slow
import assert from 'node:assert/strict'
import { createHash, createHmac, randomBytes, randomInt } from 'node:crypto'
import { test } from 'node:test'
import { sha512 as noble } from '@noble/hashes/sha2.js'
import { hmacSha512, sha512 } from '../../../firmware/crypto/engine/sha512.ts'

const CHUNK = 32_768 // what the code takes at once

const bytes = (length: number): Uint8Array => new Uint8Array(randomBytes(length))

test('hashes of every short length, and around blocks and chunks, are those of OpenSSL and noble', () => {
  const around = (length: number): number[] => Array.from({ length: 40 }, (_, i) => length - 20 + i)
  const lengths = [...Array.from({ length: 600 }, (_, i) => i), ...around(CHUNK), ...around(2 * CHUNK), 1_000_003]
  for (const length of lengths) {
    const message = bytes(length)
    const hash = sha512(message)
    assert.deepEqual(hash, new Uint8Array(createHash('sha512').update(message).digest()), `${length}`)
    assert.deepEqual(hash, noble(message))
  }
})

test('a message in parts has the hash of the whole', () => {
  for (let i = 0; i < 300; i++) {
    const parts = Array.from({ length: randomInt(1, 6) }, () => bytes(randomInt(i % 10 === 0 ? 2 * CHUNK : 200)))
    assert.deepEqual(sha512(...parts), noble(Buffer.concat(parts)))
  }
})

test('HMAC is that of OpenSSL, for keys up to a block', () => {
  for (let length = 0; length <= 128; length++) {
    const [key, first, second] = [bytes(length), bytes(randomInt(300)), bytes(randomInt(300))]
    const expected = createHmac('sha512', key).update(first).update(second).digest()
    assert.deepEqual(hmacSha512(key, first, second), new Uint8Array(expected))
  }
  assert.throws(() => hmacSha512(bytes(129)), RangeError)
})
