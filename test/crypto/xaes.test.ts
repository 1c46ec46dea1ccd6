/** XAES-256-GCM as C2SP says, held against its vectors and against pyca/cryptography, and what does not open. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { CofferError } from '../../firmware/base/error.ts'
import { openGenericKey } from '../../firmware/crypto/generic-key.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { openXaes } from '../../firmware/crypto/xaes.ts'
import { needsPython, PYTHON } from '../support/tools.ts'
import { hex, toHex, utf8 } from './support.ts'
import { expectChain } from './xaes-chain.ts'

const NONCE = utf8('ABCDEFGHIJKLMNOPQRSTUVWX')
const MESSAGE = utf8('XAES-256-GCM')
const TEXT = 'cipher: message authentication failed'

/** The second one has a key of which the first bit of L is set. */
const VECTORS = [
  ['01', '', 'ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271'],
  ['03', 'c2sp.org/XAES-256-GCM', '986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d'],
] as const

test('gives the vectors of the specification both ways', () => {
  for (const [byte, data, encrypted] of VECTORS) {
    const xaes = openXaes(hex(byte.repeat(32)))
    assert.equal(toHex(xaes.encrypt(NONCE, MESSAGE, utf8(data))), encrypted)
    assert.equal(toHex(xaes.decrypt(NONCE, hex(encrypted), utf8(data))), toHex(MESSAGE))
  }
})

test('gives what the specification says of ten thousand chained messages', () => expectChain(10_000))

const PYCA = `
import json, sys
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.kdf.kbkdf import CounterLocation, KBKDFCMAC, Mode
for line in sys.stdin:
    key, nonce, message, data = [bytes.fromhex(part) for part in json.loads(line)]
    kdf = KBKDFCMAC(AES, Mode.CounterMode, 32, 2, None, CounterLocation.BeforeFixed, None, None, b"X\\0" + nonce[:12])
    print(AESGCM(kdf.derive(key)).encrypt(nonce[12:], message, data).hex())
`

test('ten thousand random messages: pyca/cryptography encrypts the same', needsPython(), () => {
  const questions = Array.from({ length: 10_000 }, () => {
    const [messageBytes, dataBytes] = systemRandom(2)
    return [systemRandom(32), systemRandom(24), systemRandom(messageBytes!), systemRandom(dataBytes!)] as const
  })
  const input = questions.map((parts) => JSON.stringify(parts.map(toHex))).join('\n')
  const answers = execFileSync(PYTHON, ['-c', PYCA], { input, maxBuffer: 2 ** 26 })
    .toString()
    .trim()
    .split('\n')
  assert.equal(answers.length, questions.length)
  for (const [i, [key, nonce, message, data]] of questions.entries())
    assert.equal(toHex(openXaes(key).encrypt(nonce, message, data)), answers[i])
})

const refusal = (act: () => unknown): string => {
  try {
    act()
  } catch (error) {
    assert.ok(error instanceof CofferError && error.code === 'invalid')
    return error.message
  }
  return assert.fail('it opened')
}

test('every changed bit of two hundred ciphertexts, nonces and data is refused with one text', () => {
  const xaes = openXaes(systemRandom(32))
  for (let round = 0; round < 200; round++) {
    const parts = [systemRandom(24), new Uint8Array(), systemRandom(8)]
    parts[1] = xaes.encrypt(parts[0]!, systemRandom(round % 8), parts[2]!)
    for (const [part, bytes] of parts.entries())
      for (let bit = 0; bit < bytes.length * 8; bit++) {
        const changed = bytes.slice()
        changed[bit >> 3]! ^= 1 << (bit & 7)
        const [nonce, encrypted, data] = parts.with(part, changed)
        assert.equal(
          refusal(() => xaes.decrypt(nonce!, encrypted!, data!)),
          TEXT,
        )
      }
  }
})

test('a ciphertext that was cut, lengthened or made with another key is refused with the same text', () => {
  const [xaes, other] = [openXaes(systemRandom(32)), openXaes(systemRandom(32))]
  const encrypted = xaes.encrypt(NONCE, MESSAGE)
  for (let length = 0; length < encrypted.length; length++)
    assert.equal(
      refusal(() => xaes.decrypt(NONCE, encrypted.subarray(0, length))),
      TEXT,
    )
  assert.equal(
    refusal(() => xaes.decrypt(NONCE, new Uint8Array([...encrypted, 0]))),
    TEXT,
  )
  assert.equal(
    refusal(() => xaes.decrypt(NONCE, encrypted, utf8('data'))),
    TEXT,
  )
  assert.equal(
    refusal(() => other.decrypt(NONCE, encrypted)),
    TEXT,
  )
})

test('refuses keys and nonces of other lengths', () => {
  for (const bytes of [0, 16, 24, 31, 33, 64])
    assert.match(
      refusal(() => openXaes(new Uint8Array(bytes))),
      /32 bytes/,
    )
  const xaes = openXaes(systemRandom(32))
  for (const bytes of [0, 12, 16, 23, 25]) {
    assert.match(
      refusal(() => xaes.encrypt(new Uint8Array(bytes), MESSAGE)),
      /24 bytes/,
    )
    assert.match(
      refusal(() => xaes.decrypt(new Uint8Array(bytes), new Uint8Array(28))),
      /24 bytes/,
    )
  }
  assert.match(
    refusal(() => openGenericKey(systemRandom(32)).decrypt('XAES_GCM', MESSAGE, undefined, undefined)),
    /24/,
  )
})
