import assert from 'node:assert/strict'
import { hkdfSync } from 'node:crypto'
import test from 'node:test'
import nacl from 'tweetnacl'
import { wipe } from '../../firmware/base/secret.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { deriveSealKey, equalBytes, SEAL_OVERHEAD_BYTES, seal, unseal } from '../../firmware/crypto/seal.ts'

const key = systemRandom(32)
const lengths = [0, 1, 15, 16, 17, 63, 64, 65, 1000, 4080, 4081, 100_000]

test('what was sealed opens, and is a nonce followed by a secretbox', () => {
  for (const length of lengths) {
    const message = systemRandom(length)
    const sealed = seal(key, message, systemRandom)
    assert.equal(sealed.length, length + SEAL_OVERHEAD_BYTES)
    assert.deepEqual(unseal(key, sealed), message)
    assert.deepEqual(sealed.subarray(24), nacl.secretbox(message, sealed.subarray(0, 24), key))
  }
})

test('each sealing draws a nonce of its own', () => {
  const message = systemRandom(50)
  assert.notDeepEqual(seal(key, message, systemRandom), seal(key, message, systemRandom))
})

test('the nonce is what the given source of randomness returns', () => {
  const nonce = new Uint8Array(24).fill(9)
  assert.deepEqual(seal(key, systemRandom(5), () => nonce.slice()).subarray(0, 24), nonce)
})

test('sealing leaves the message as it is', () => {
  const message = new Uint8Array([1, 2, 3])
  seal(key, message, systemRandom)
  assert.deepEqual(message, new Uint8Array([1, 2, 3]))
})

test('any changed bit, any shorter or longer form, and any other key is refused', () => {
  const sealed = seal(key, systemRandom(20), systemRandom)
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const changed = sealed.slice()
    changed[bit >> 3]! ^= 1 << (bit & 7)
    assert.equal(unseal(key, changed), null, `bit ${bit}`)
  }
  for (let length = 0; length < sealed.length; length++) assert.equal(unseal(key, sealed.subarray(0, length)), null)
  assert.equal(unseal(key, new Uint8Array([...sealed, 0])), null)
  const other = key.slice()
  other[31]! ^= 1
  assert.equal(unseal(other, sealed), null)
})

test('a key of another length is refused by name', () => {
  for (const length of [0, 16, 31, 33]) {
    assert.throws(() => seal(new Uint8Array(length), new Uint8Array(1), systemRandom), /key must have 32 bytes/)
    assert.throws(() => unseal(new Uint8Array(length), new Uint8Array(60)), /key must have 32 bytes/)
  }
})

test('derived keys are those of HKDF-SHA-256 without salt', () => {
  for (const purpose of ['a', 'coffer users records']) {
    const expected = new Uint8Array(hkdfSync('sha256', key, '', purpose, 32))
    assert.deepEqual(deriveSealKey(key, purpose), expected)
  }
})

test('bytes are equal when all of them are', () => {
  assert.ok(equalBytes(new Uint8Array(), new Uint8Array()))
  assert.ok(equalBytes(key, key.slice()))
  assert.ok(!equalBytes(key, key.subarray(1)))
  for (const position of [0, 15, 31]) {
    const other = key.slice()
    other[position]! ^= 128
    assert.ok(!equalBytes(key, other))
  }
})

test('wiping leaves zeros', () => {
  const secrets = [new Uint8Array([1, 2]), new Uint8Array([3])]
  wipe(...secrets)
  assert.deepEqual(secrets, [new Uint8Array(2), new Uint8Array(1)])
})
