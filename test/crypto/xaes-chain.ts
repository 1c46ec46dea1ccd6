/** The chained test of C2SP's page on XAES-256-GCM: keys, nonces, messages and data out of SHAKE-128, and the hash of all that comes of it. */

import assert from 'node:assert/strict'
import { shake128 } from '@noble/hashes/sha3.js'
import { openXaes } from '../../firmware/crypto/xaes.ts'
import { toHex } from './support.ts'

const ACCUMULATED = {
  10000: 'e6b9edf2df6cec60c8cbd864e2211b597fb69a529160cd040d56c0c210081939',
  1000000: '2163ae1445985a30b60585ee67daa55674df06901b890593e824b8a7c885ab15',
} as const

export function expectChain(rounds: keyof typeof ACCUMULATED): void {
  const source = shake128.create({})
  const sum = shake128.create({ dkLen: 32 })
  const take = (bytes: number): Uint8Array => (bytes === 0 ? new Uint8Array() : source.xof(bytes))
  for (let round = 0; round < rounds; round++) {
    const [key, nonce] = [take(32), take(24)]
    const message = take(take(1)[0]!)
    const data = take(take(1)[0]!)
    const xaes = openXaes(key)
    const encrypted = xaes.encrypt(nonce, message, data)
    assert.deepEqual(new Uint8Array(xaes.decrypt(nonce, encrypted, data)), message)
    xaes.wipe()
    sum.update(encrypted)
  }
  assert.equal(toHex(sum.digest()), ACCUMULATED[rounds])
}
