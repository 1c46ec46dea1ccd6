/**
 * Known answers of the reference implementation of ML-DSA (keys, and deterministic signatures with a context), as the test vectors
 * of Python's `cryptography` bring them: 100 of each set.
 */

import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { whyNotFused } from '../../firmware/crypto/engine/float/probe.ts'
import { ML_DSA_SETS } from '../../firmware/crypto/engine/ml-dsa/parameters.ts'
import { expandedMlDsa, importMlDsa, openMlDsa } from '../../firmware/crypto/ml-dsa/private-key.ts'
import { verifyMlDsa } from '../../firmware/crypto/ml-dsa/verification.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { needsPython, PYTHON } from '../support/tools.ts'
import { hex, toHex } from './support.ts'

const ANSWERS = 100

for (const set of ML_DSA_SETS)
  for (const products of ['fused', 'exact'] as const) {
    const why = products === 'fused' ? (whyNotFused() ?? false) : false
    test(`${set}, ${products}: keys and signatures are those of the reference implementation`, {
      skip: needsPython().skip || why,
    }, () => {
      const answers = answersOf(set)
      assert.equal(answers.length, ANSWERS)
      for (const { xi, pk, sk, msg, ctx, sm } of answers) {
        const [seed, message, context] = [hex(xi!), hex(msg!), hex(ctx!)]
        const pair = importMlDsa(set, seed, systemRandom, undefined, products)
        assert.equal(toHex(pair.public.data), pk)
        assert.equal(toHex(expandedMlDsa(set, seed)), sk)
        const key = openMlDsa(set, pair.private, () => new Uint8Array(32), products) // deterministic: FIPS 204 algorithm 2
        const signature = key.sign('ML_DSA', message, context)
        key.wipe()
        assert.equal(toHex(signature) + msg, sm)
        assert.ok(verifyMlDsa(set, pair.public.data, 'ML_DSA', message, signature, context, products))
      }
    })
  }

function answersOf(set: string): Record<string, string>[] {
  const libraries = join(PYTHON, '../../lib')
  const [python] = readdirSync(libraries)
  const name = `kat_${set.replace('ML_DSA', 'MLDSA')}_det_pure.rsp`
  const file = join(libraries, python!, 'site-packages/cryptography_vectors/asymmetric/MLDSA', name)
  assert.ok(existsSync(file), `there is no ${name}: install test/accept/requirements.txt anew`)
  const blocks = readFileSync(file, 'utf8').split(/^count = \d+$/m)
  return blocks
    .map((block) =>
      Object.fromEntries([...block.matchAll(/^(\w+) = ?(\S*)$/gm)].map(([, name, value]) => [name!, value!])),
    )
    .filter(({ xi }) => xi !== undefined) as Record<string, string>[]
}
