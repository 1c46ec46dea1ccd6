// @test short slow
import assert from 'node:assert/strict'
import {
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  randomInt,
  sign as signWithOpenSsl,
  verify as verifyWithOpenSsl,
} from 'node:crypto'
import { test } from 'node:test'
import { CofferError } from '../../firmware/base/error.ts'
import type { Products } from '../../firmware/crypto/engine/float/emitter.ts'
import { whyNotFused } from '../../firmware/crypto/engine/float/probe.ts'
import { Lattice } from '../../firmware/crypto/engine/ml-dsa/lattice.ts'
import { ML_DSA_SETS, type MlDsaSet, PARAMETERS } from '../../firmware/crypto/engine/ml-dsa/parameters.ts'
import type * as Sets from '../../firmware/crypto/engine/ml-dsa/sets.ts'
import { comesOut, KNOWN } from '../../firmware/crypto/engine/ml-dsa/sets.ts'
import {
  expandedMlDsa,
  generateMlDsa,
  importMlDsa,
  type MlDsaMode,
  openMlDsa,
} from '../../firmware/crypto/ml-dsa/private-key.ts'
import { verifyMlDsa } from '../../firmware/crypto/ml-dsa/verification.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { NO_VECTORS } from '../support/tools.ts'
import { hex, toHex, utf8, wycheproof } from './support.ts'

const SIGNATURES = process.env.COFFER_SLOW === undefined ? 60 : 100_000 // of each set and kind of multiply-add
const KEYS = process.env.COFFER_SLOW === undefined ? 4 : 1000

const KINDS = [
  { products: 'fused', skip: whyNotFused() ?? false },
  { products: 'exact', skip: false },
] as const satisfies readonly { products: Products; skip: string | false }[]

const bytes = (length: number): Uint8Array => new Uint8Array(randomBytes(length))

interface SignFile {
  testGroups: {
    privateSeed?: string
    privateKey?: string
    publicKey: string | null
    tests: SignCase[]
  }[]
}

interface SignCase {
  tcId: number
  comment: string
  msg?: string
  mu?: string
  ctx?: string
  rnd?: string
  sig: string
  result: 'valid' | 'invalid'
}

interface VerifyFile {
  testGroups: { publicKey: string; tests: Omit<SignCase, 'mu' | 'rnd'>[] }[]
}

for (const set of ML_DSA_SETS) {
  const file = (kind: string) => `${set.toLowerCase().replace('ml_dsa', 'mldsa')}_${kind}_test.json`
  for (const { products, skip } of KINDS) {
    for (const kind of ['sign_seed', 'sign_noseed']) {
      const vectors = wycheproof<SignFile>(file(kind))
      const why = skip || (vectors === null && NO_VECTORS)
      test(`Wycheproof, ${file(kind)}, ${products}`, { skip: why }, () => {
        for (const { privateSeed, privateKey, publicKey, tests } of vectors!.testGroups) {
          const secret = hex(privateSeed ?? privateKey!)
          for (const { tcId, comment, msg, mu, ctx, rnd, sig, result } of tests) {
            const random = () => (rnd === undefined ? new Uint8Array(32) : hex(rnd))
            const signed = () => {
              const pair = importMlDsa(set, secret, systemRandom, undefined, products)
              const key = openMlDsa(set, pair.private, random, products)
              if (publicKey) assert.equal(toHex(key.publicKey), publicKey)
              const [mode, message]: [MlDsaMode, string] =
                msg === undefined ? ['ML_DSA_EXTERNAL_MU', mu!] : ['ML_DSA', msg]
              const signature = key.sign(mode, hex(message), hex(ctx ?? ''))
              if (msg !== undefined && mu) {
                assert.equal(toHex(key.sign('ML_DSA_EXTERNAL_MU', hex(mu))), toHex(signature))
              }
              key.wipe()
              return toHex(signature)
            }
            if (result === 'invalid') assert.throws(signed, isInvalid, `${tcId} ${comment}`)
            else assert.equal(signed(), sig, `${tcId} ${comment}`)
          }
        }
      })
    }
    const vectors = wycheproof<VerifyFile>(file('verify'))
    const why = skip || (vectors === null && NO_VECTORS)
    test(`Wycheproof, ${file('verify')}, ${products}`, { skip: why }, () => {
      for (const { publicKey, tests } of vectors!.testGroups) {
        for (const { tcId, comment, msg, ctx, sig, result } of tests) {
          const isRight = verifyMlDsa(set, hex(publicKey), 'ML_DSA', hex(msg!), hex(sig), hex(ctx ?? ''), products)
          assert.equal(isRight, result === 'valid', `${tcId} ${comment}`)
        }
      }
    })

    test(`${set}, ${products}: OpenSSL accepts what is signed, with the same public key`, { skip }, () => {
      for (let k = 0; k < KEYS; k++) {
        const seed = bytes(32)
        const theirs = publicKeyOf(set, importMlDsa(set, seed, systemRandom, undefined, products).public.data)
        const key = openMlDsa(set, seed, systemRandom, products)
        for (let i = 0; i < SIGNATURES / KEYS; i++) {
          const [message, context] = [bytes(randomInt(10_001)), bytes(randomInt(256))]
          const signature = key.sign('ML_DSA', message, context)
          assert.ok(verifyWithOpenSsl(null, message, { key: theirs, context } as never, signature))
          const [wrongMessage, wrongContext, wrongSignature] = [message, context, signature].map(oneBitOff)
          const verify = (...[m, c, s]: Uint8Array[]) => verifyMlDsa(set, key.publicKey, 'ML_DSA', m!, s!, c!, products)
          assert.equal(verify(message, context, signature), true)
          assert.equal(verify(message, context, wrongSignature!), false)
          if (message.length > 0) assert.equal(verify(wrongMessage!, context, signature), false)
          if (context.length > 0) assert.equal(verify(message, wrongContext!, signature), false)
        }
        key.wipe()
      }
    })

    test(`${set}, ${products}: what OpenSSL signs is verified, and its keys are the same here`, { skip }, () => {
      for (let k = 0; k < KEYS; k++) {
        const { privateKey } = generateKeyPairSync(nameOf(set) as never) as unknown as { privateKey: KeyObject }
        const jwk = privateKey.export({ format: 'jwk' }) as { priv: string; pub: string }
        const [seed, publicKey] = [jwk.priv, jwk.pub].map((text) => new Uint8Array(Buffer.from(text, 'base64url')))
        assert.deepEqual(importMlDsa(set, seed!, systemRandom, undefined, products).public.data, publicKey)
        const expanded = expandedMlDsa(set, seed!, products)
        assert.deepEqual(importMlDsa(set, expanded, systemRandom, undefined, products), {
          type: set,
          private: expanded,
          public: { data: publicKey },
        })
        const message = bytes(randomInt(1000))
        const signature = new Uint8Array(signWithOpenSsl(null, message, privateKey))
        assert.ok(verifyMlDsa(set, publicKey!, 'ML_DSA', message, signature, undefined, products))
      }
    })

    test(`${set}, ${products}: the known answer takes every way of rejection, and a spoilt one is noticed`, {
      skip,
    }, () => {
      const lattice = new Lattice(PARAMETERS[set], products)
      const rejections = new Set<string>()
      assert.ok(comesOut(lattice, KNOWN[set], (rejection) => rejections.add(rejection)))
      const reachable = set === 'ML_DSA_44' ? ['hints', 't0', 'w0', 'z'] : ['hints', 'w0', 'z']
      assert.deepEqual([...rejections].sort(), reachable)
      const spoilt = { ...KNOWN[set], sha256: KNOWN[set].sha256.replace(/^./, (digit) => (digit === '0' ? '1' : '0')) }
      assert.equal(comesOut(lattice, spoilt), false)
    })
  }

  test(`${set}: the parts of an expanded key must agree`, () => {
    const { expandedBytes, rows, columns, etaBits } = PARAMETERS[set]
    const expanded = expandedMlDsa(set, bytes(32))
    assert.equal(expanded.length, expandedBytes)
    const afterSecrets = 128 + 32 * (rows + columns) * etaBits
    const places = { rho: 3, tr: 70, s1: 130, s2: afterSecrets - 1, t0: afterSecrets + 5, end: expandedBytes - 1 }
    for (const [part, place] of Object.entries(places)) {
      const wrong = expanded.with(place, expanded[place]! ^ 1)
      assert.throws(() => importMlDsa(set, wrong, systemRandom), isInvalid, part)
    }
    const outOfRange = expanded.with(128, 0xff)
    assert.throws(() => importMlDsa(set, outOfRange, systemRandom), isInvalid)
    assert.doesNotThrow(() => importMlDsa(set, expanded.with(40, expanded[40]! ^ 1), systemRandom)) // K is anything
    assert.throws(() => openMlDsa(set, outOfRange, systemRandom), { code: 'internal' })
    for (const length of [0, 31, 33, expandedBytes - 1, expandedBytes + 1]) {
      assert.throws(() => importMlDsa(set, new Uint8Array(length), systemRandom), isInvalid)
    }
  })

  test(`${set}: hedged, with a context of up to 255 bytes, or an external mu of 64`, () => {
    const pair = generateMlDsa(set, systemRandom)
    assert.equal(pair.private.length, 32)
    const key = openMlDsa(set, pair.private, systemRandom)
    assert.deepEqual(key.publicKey, pair.public.data)
    const message = utf8('the same message')
    assert.notDeepEqual(key.sign('ML_DSA', message), key.sign('ML_DSA', message))
    assert.equal(key.sign('ML_DSA', new Uint8Array(), new Uint8Array(255)).length, PARAMETERS[set].signatureBytes)
    assert.throws(() => key.sign('ML_DSA', message, new Uint8Array(256)), isInvalid)
    for (const length of [0, 63, 65]) {
      assert.throws(() => key.sign('ML_DSA_EXTERNAL_MU', new Uint8Array(length)), isInvalid)
    }
    assert.throws(() => key.sign('ML_DSA_EXTERNAL_MU', new Uint8Array(64), new Uint8Array(1)), isInvalid)
    const mu = bytes(64)
    const signature = key.sign('ML_DSA_EXTERNAL_MU', mu)
    assert.ok(verifyMlDsa(set, pair.public.data, 'ML_DSA_EXTERNAL_MU', mu, signature))
    key.wipe()
    assert.throws(() => key.sign('ML_DSA', message), { code: 'internal' })
  })
}

test('as many opened keys of the largest set as a worker keeps take less than 30 MiB', () => {
  const keysMax = 256
  openMlDsa('ML_DSA_87', bytes(32), systemRandom).wipe()
  const bytesOf = () => process.memoryUsage().arrayBuffers
  const before = bytesOf()
  const keys = Array.from({ length: keysMax }, () => openMlDsa('ML_DSA_87', bytes(32), systemRandom))
  const taken = (bytesOf() - before) / 2 ** 20
  for (const key of keys) key.wipe()
  assert.ok(taken > 10 && taken < 30, `${taken} MiB`)
})

test('a set whose known answer does not come out gives no signature, and says why', async () => {
  const fresh: typeof Sets = await import(`../../firmware/crypto/engine/ml-dsa/sets.ts?${randomInt(2 ** 40)}`)
  Object.assign(fresh.KNOWN.ML_DSA_44, { sha256: '00'.repeat(32) })
  for (let time = 0; time < 2; time++) {
    assert.throws(() => fresh.latticeOf('ML_DSA_44', 'exact'), {
      code: 'internal',
      message: 'Signatures of ML_DSA_44 come out wrong: this computer or this software is broken',
    })
  }
  assert.ok(fresh.latticeOf('ML_DSA_65', 'exact') instanceof Lattice)
})

const isInvalid = (error: unknown): boolean => error instanceof CofferError && error.code === 'invalid'

const nameOf = (set: MlDsaSet): string => set.toLowerCase().replaceAll('_', '-')

function publicKeyOf(set: MlDsaSet, data: Uint8Array): KeyObject {
  const jwk = { kty: 'AKP', alg: set.replaceAll('_', '-'), pub: Buffer.from(data).toString('base64url') }
  return createPublicKey({ key: jwk as never, format: 'jwk' })
}

function oneBitOff(original: Uint8Array): Uint8Array {
  if (original.length === 0) return original
  const place = randomInt(original.length)
  return original.with(place, original[place]! ^ (1 << randomInt(8)))
}
