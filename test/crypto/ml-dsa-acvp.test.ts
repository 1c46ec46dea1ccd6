/**
 * NIST's own vectors of ML-DSA (ACVP: keyGen, sigGen, sigVer): of the message, of what is hashed behind tr, and of mu; deterministic and
 * hedged. HashML-DSA, which is not offered, is left out.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whyNotFused } from '../../firmware/crypto/engine/float/probe.ts'
import { expandedMlDsa, importMlDsa, openMlDsa } from '../../firmware/crypto/ml-dsa/private-key.ts'
import { shake256, verifyMlDsa, verifyMu } from '../../firmware/crypto/ml-dsa/verification.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import type { MlDsaKeyType } from '../../firmware/crypto/types.ts'
import { needsVectors } from '../support/tools.ts'
import { type AcvpTest, acvp } from './acvp.ts'
import { hex, toHex } from './support.ts'

/** How many `.ci/vectors` gets at least. */
const [KEYS, SIGNATURES, VERIFICATIONS] = [75, 60, 45]

const setOf = ({ parameterSet }: AcvpTest): MlDsaKeyType => parameterSet.replaceAll('-', '_') as MlDsaKeyType
const isPure = ({ preHash }: AcvpTest): boolean => preHash !== 'preHash'
const isExternal = ({ signatureInterface }: AcvpTest): boolean => signatureInterface === 'external'
const muOf = ({ message, mu }: AcvpTest, tr: Uint8Array): Uint8Array =>
  mu === undefined ? shake256(tr, hex(message!)) : hex(mu)

for (const products of ['fused', 'exact'] as const) {
  const skip = needsVectors().skip || (products === 'fused' ? (whyNotFused() ?? false) : false)

  test(`keys, ${products}`, { skip }, () => {
    const tests = acvp('keyGen')
    assert.ok(tests.length >= KEYS, `${tests.length}`)
    for (const each of tests) {
      const pair = importMlDsa(setOf(each), hex(each.seed!), systemRandom, undefined, products)
      assert.equal(toHex(pair.public.data), each.pk!.toLowerCase())
      assert.equal(toHex(expandedMlDsa(setOf(each), pair.private, products)), each.sk!.toLowerCase())
    }
  })

  test(`signatures, ${products}`, { skip }, () => {
    const tests = acvp('sigGen').filter(isPure)
    assert.ok(tests.length >= SIGNATURES, `${tests.length}`)
    for (const each of tests) {
      const random = () => (each.deterministic ? new Uint8Array(32) : hex(each.rnd!))
      const key = openMlDsa(setOf(each), hex(each.sk ?? each.seed!), random, products)
      const signature = isExternal(each)
        ? key.sign('ML_DSA', hex(each.message!), hex(each.context!))
        : key.sign('ML_DSA_EXTERNAL_MU', muOf(each, shake256(key.publicKey)))
      key.wipe()
      assert.equal(toHex(signature), each.signature!.toLowerCase(), `${each.tcId}`)
    }
  })

  test(`verification, ${products}`, { skip }, () => {
    const tests = acvp('sigVer').filter(isPure)
    assert.ok(tests.length >= VERIFICATIONS, `${tests.length}`)
    for (const each of tests) {
      const set = setOf(each)
      const [publicKey, signature] = [hex(each.pk!), hex(each.signature!)]
      const isRight = isExternal(each)
        ? verifyMlDsa(set, publicKey, 'ML_DSA', hex(each.message!), signature, hex(each.context!), products)
        : verifyMu(set, publicKey, muOf(each, shake256(publicKey)), signature, products)
      assert.equal(isRight, each.testPassed, `${each.tcId}`)
    }
  })
}
