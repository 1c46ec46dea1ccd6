// @test long 30 slow
/**
 * Bits that flip in memory: a wrong signature can give the key away, so none may leave. Every byte that stays in memory from one
 * signature to the next is within reach: tables, constants, what is zero in between, and the opened key.
 */

import assert from 'node:assert/strict'
import { createHash, randomBytes, randomInt, verify } from 'node:crypto'
import { test } from 'node:test'
import { schnorr } from '@noble/curves/secp256k1.js'
import { CURVES } from '../../../../firmware/crypto/algorithms.ts'
import { publicKeyPem } from '../../../../firmware/crypto/encoding/public-key.ts'
import type { Products } from '../../../../firmware/crypto/engine/float/emitter.ts'
import { whyNotFused } from '../../../../firmware/crypto/engine/float/probe.ts'
import { systemRandom } from '../../../../firmware/crypto/random.ts'
import type { CurveKeyType, EcKeyType } from '../../../../firmware/crypto/types.ts'
import { madeBy } from '../made-by.ts'

const FLIPS = process.env.COFFER_SLOW === undefined ? 300 : 10_000 // of each curve, and of its mode

/** Places in a memory that are worth a flip: of what is zero, of what comes first and last of the rest, and of all of it. */
function regionsOf(memory: Uint8Array): (() => number)[] {
  const first = memory.findIndex((byte) => byte !== 0)
  const end = memory.findLastIndex((byte) => byte !== 0) + 1
  const within = (from: number, to: number) => (from < to ? [() => randomInt(from, to)] : [])
  return [
    ...within(0, first),
    ...within(first, Math.min(first + 4096, end)),
    ...within(Math.max(first, end - 4096), end),
    ...within(first, end),
  ]
}

// What is made at the import of the modules counts, too.
const { result: curves, secrets: constants } = await madeBy(
  () => import('../../../../firmware/crypto/ec/private-key.ts'),
)

const KINDS = [
  { products: 'fused', skip: whyNotFused() ?? false },
  { products: 'exact', skip: false },
] as const satisfies readonly { products: Products; skip: string | false }[]

const SUBJECTS = [
  ...(Object.keys(CURVES) as EcKeyType[]).map((type) => ({ type, mode: 'ECDSA' }) as const),
  { type: 'EC_P256K1', mode: 'BIP340' },
  { type: 'Curve25519', mode: 'EdDSA' },
] as const satisfies readonly { type: CurveKeyType; mode: string }[]

const text = randomBytes(50)

function isRight(type: CurveKeyType, mode: string, publicKey: Uint8Array, signature: Uint8Array): boolean {
  if (mode === 'BIP340') return schnorr.verify(signature, text, publicKey.subarray(1, 33))
  return verify(
    type === 'Curve25519' ? null : CURVES[type].hash,
    text,
    publicKeyPem(type, { data: publicKey }),
    signature,
  )
}

const memoriesOf = new Map<string, Uint8Array[]>()

for (const { products, skip } of KINDS) {
  for (const { type, mode } of SUBJECTS) {
    test(`${type}, ${mode}, ${products}: of ${FLIPS} flipped bits none lets a wrong signature out`, {
      skip,
    }, async () => {
      const made = await madeBy(() => {
        const pair = curves.generateCurveKey(type, systemRandom, products)
        assert.ok(pair.public !== null && 'data' in pair.public)
        const key = curves.openCurveKey(type, pair.private, systemRandom, products)
        const message = mode === 'ECDSA' ? createHash(CURVES[type].hash).update(text).digest() : text
        const sign = () => key.sign(mode, message)
        sign() // and opens what a mode needs
        return { sign, publicKey: pair.public.data.slice() }
      })
      const { sign, publicKey } = made.result
      const name = `${type} ${products}`
      const memories = memoriesOf.get(name) ?? made.memories
      memoriesOf.set(name, memories)
      const sha512 = memoriesOf.get('sha512') ?? made.memories.filter(({ length }) => length === 65_536)
      memoriesOf.set('sha512', sha512)
      const places = [
        ...[...memories, ...sha512].flatMap((memory) => regionsOf(memory).map((at) => ({ memory, at }))),
        ...[...made.secrets, ...constants].map((memory) => ({ memory, at: () => randomInt(memory.length) })),
      ]
      let refused = 0
      for (let flip = 0; flip < FLIPS; flip++) {
        const { memory, at } = places[flip % places.length]!
        const [byte, bit] = [at(), 1 << randomInt(8)]
        const before = memory[byte]!
        memory[byte] = before ^ bit
        let signature: Uint8Array | undefined
        try {
          signature = sign()
        } catch {
          refused++
        }
        if (signature !== undefined) {
          assert.ok(isRight(type, mode, publicKey, signature), `bit ${bit} of byte ${byte} of ${memory.length}`)
        }
        memory[byte] = before
      }
      assert.ok(refused > FLIPS / 10, `only ${refused} of the flips did anything`)
      assert.ok(isRight(type, mode, publicKey, sign()))
    })
  }
}
