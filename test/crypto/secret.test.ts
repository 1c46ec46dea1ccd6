/** Memory for secrets: what is transient shares a buffer, what outlives an operation never does. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { copyTransient, newSecret, ownsMemory, transientSecret, wipeAndFree } from '../../firmware/base/secret.ts'
import { CURVES } from '../../firmware/crypto/algorithms.ts'
import { generateCurveKey, importCurveKey } from '../../firmware/crypto/ec/private-key.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'

test('transient secrets begin as zeros, overlap with none that is in use, and are wiped alone', () => {
  const lengths = Array.from({ length: 2000 }, (_, i) => (i * 37) % 300)
  const secrets = lengths.map((length, i) => {
    const secret = transientSecret(length)
    assert.deepEqual(secret, new Uint8Array(length))
    return secret.fill(i)
  })
  secrets.forEach((secret, i) => {
    if (i % 2 === 0) wipeAndFree(secret)
  })
  secrets.forEach((secret, i) => {
    if (i % 2 === 1) assert.deepEqual(secret, new Uint8Array(lengths[i]!).fill(i))
    else assert.ok(secret.length === 0 || secret.every((byte) => byte === 0))
  })
})

test('short transient secrets share their memory, long ones and all others have their own', () => {
  assert.equal(ownsMemory(transientSecret(64)), false)
  assert.ok(ownsMemory(transientSecret(4096)))
  assert.ok(ownsMemory(newSecret(64)))
  assert.deepEqual(copyTransient(Uint8Array.of(1, 2, 3)), Uint8Array.of(1, 2, 3))
})

test('to wipe and free nothing leaves it usable, for many hold the same nothing', () => {
  const nothing = newSecret(0)
  wipeAndFree(nothing)
  assert.deepEqual(new Uint8Array(nothing.subarray(0)), new Uint8Array())
})

test('no part of a key pair lies in shared memory: it would go along to another thread with all that is in there', () => {
  for (const type of ['Curve25519', ...(Object.keys(CURVES) as (keyof typeof CURVES)[])] as const) {
    const made = generateCurveKey(type, systemRandom)
    const imported = importCurveKey(type, made.private)
    for (const { private: secret, public: shown } of [made, imported]) {
      const { data } = shown as { data: Uint8Array }
      assert.ok(ownsMemory(secret), type)
      assert.equal(data.buffer.byteLength, data.length, type)
    }
  }
})
