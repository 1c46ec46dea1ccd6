import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import test from 'node:test'
import { createMac } from '../../firmware/crypto/mac.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'

const bytesOf = (words: Int32Array): string => Buffer.from(words.buffer).toString('hex')

test('the code of messages of every length is that of HMAC-SHA-256, in one part or two', () => {
  const key = systemRandom(32)
  const mac = createMac(key)
  for (const length of [0, 1, 55, 56, 63, 64, 65, 300, 4095, 4096, 4097, 100_000]) {
    const message = systemRandom(length)
    const expected = createHmac('sha256', key).update(message).digest('hex')
    const split = Math.floor(length / 3)
    assert.equal(bytesOf(mac.of(message)), expected)
    assert.equal(bytesOf(mac.of(message.subarray(0, split), message.subarray(split))), expected)
  }
})

test('once it is closed, nothing of the key is left in it', () => {
  const key = systemRandom(32)
  const mac = createMac(key)
  const before = bytesOf(mac.of(key))
  mac.close()
  assert.notEqual(bytesOf(mac.of(key)), before)
})
