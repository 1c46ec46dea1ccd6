// @test long 30
/** RSA keys of every length within two limbs of an engine's numbers: half and whole numbers end at every place in a limb. */

import assert from 'node:assert/strict'
import { constants, generateKeyPairSync, publicDecrypt } from 'node:crypto'
import test from 'node:test'
import type { Engine } from '../../firmware/crypto/engine/engine.ts'
import { fastEngine } from '../../firmware/crypto/engine/float/float.ts'
import { plainEngine } from '../../firmware/crypto/engine/integer/integer.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { openRsa, rsaFromPrimes } from '../../firmware/crypto/rsa/private-key.ts'

const BITS = { from: 1024, to: 1024 + 2 * 51 }

const engines: readonly Engine[] = [fastEngine, plainEngine]

for (const engine of engines) {
  test(`the ${engine.name} engine imports and signs with keys of each length from ${BITS.from} to ${BITS.to} bits`, () => {
    for (let bits = BITS.from; bits <= BITS.to; bits++) {
      const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: bits })
      const { p = '', q = '', e = '' } = privateKey.export({ format: 'jwk' })
      const [primeP, primeQ, exponent] = [p, q, e].map((text) => new Uint8Array(Buffer.from(text, 'base64url')))
      const opened = openRsa(rsaFromPrimes(primeP!, primeQ!, exponent!, systemRandom, engine), systemRandom, engine)
      const message = systemRandom(32)
      const signature = opened.sign('PKCS1', message)
      opened.wipe()
      const padded = { key: publicKey, padding: constants.RSA_PKCS1_PADDING }
      assert.deepEqual(new Uint8Array(publicDecrypt(padded, signature)), message, `${bits} bits`)
    }
  })
}
