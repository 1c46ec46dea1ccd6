// @test short slow
/**
 * Bits that flip in memory: a wrong signature can give the key away, so none may leave. And what is left in memory afterwards:
 * nothing.
 */

import assert from 'node:assert/strict'
import { createPublicKey, randomBytes, randomInt, verify } from 'node:crypto'
import { test } from 'node:test'
import { CofferError } from '../../../../firmware/base/error.ts'
import { publicKeyPem } from '../../../../firmware/crypto/encoding/public-key.ts'
import { Fault } from '../../../../firmware/crypto/engine/fault.ts'
import type { Products } from '../../../../firmware/crypto/engine/float/emitter.ts'
import { whyNotFused } from '../../../../firmware/crypto/engine/float/probe.ts'
import type * as Keccak from '../../../../firmware/crypto/engine/keccak.ts'
import { keccak, SHAKE256 } from '../../../../firmware/crypto/engine/keccak.ts'
import { expandSeed } from '../../../../firmware/crypto/engine/ml-dsa/key.ts'
import type { Lattice } from '../../../../firmware/crypto/engine/ml-dsa/lattice.ts'
import { ML_DSA_SETS, type MlDsaSet } from '../../../../firmware/crypto/engine/ml-dsa/parameters.ts'
import { latticeOf } from '../../../../firmware/crypto/engine/ml-dsa/sets.ts'
import { type OpenedMlDsa, openMlDsa } from '../../../../firmware/crypto/ml-dsa/private-key.ts'
import { systemRandom } from '../../../../firmware/crypto/random.ts'
import { madeBy } from '../made-by.ts'

const FLIPS = process.env.COFFER_SLOW === undefined ? 150 : 1000 // of each set, kind of multiply-add and memory

const KINDS = [
  { products: 'fused', skip: whyNotFused() ?? false },
  { products: 'exact', skip: false },
] as const satisfies readonly { products: Products; skip: string | false }[]

const text = randomBytes(50)

/** Round constants, and then what is zero between two hashes. */
const {
  memories: [keccakMemory],
} = await madeBy(() => keccak(SHAKE256, 1))
const KECCAK_CONSTANTS = 24 * 8 + 16

function withFlip<T>(memory: Uint8Array, place: number, work: () => T): T {
  const bit = 1 << randomInt(8)
  memory[place]! ^= bit
  try {
    return work()
  } finally {
    memory[place]! ^= bit
  }
}

/** Whether a signature came, which must be right; else it must be said to be a fault. */
function isSigned(set: MlDsaSet, key: OpenedMlDsa, where: string): boolean {
  let signature: Uint8Array
  try {
    signature = key.sign('ML_DSA', text)
  } catch (error) {
    assert.ok(
      error instanceof Fault || (error instanceof CofferError && error.code === 'internal'),
      `${where}: ${error}`,
    )
    return false
  }
  const publicKey = createPublicKey(publicKeyPem(set, { data: key.publicKey }))
  assert.ok(verify(null, text, publicKey, signature), `a wrong signature left: ${where}`)
  return true
}

/** Calls `before` ahead of the call of that number of the module's functions; says how many calls there were. */
function interrupted(lattice: Lattice, number: number, before: () => void, work: () => void): number {
  const code = lattice.code
  let calls = 0
  const watch =
    <A extends unknown[], R>(call: (...operands: A) => R) =>
    (...operands: A): R => {
      if (calls++ === number) before()
      return call(...operands)
    }
  const watched = Object.fromEntries(
    Object.entries(code).map(([name, part]) => [name, typeof part === 'function' ? watch(part as never) : part]),
  )
  Object.assign(lattice, { code: watched })
  try {
    work()
  } finally {
    Object.assign(lattice, { code })
  }
  return calls
}

for (const set of ML_DSA_SETS) {
  for (const { products, skip } of KINDS) {
    test(`${set}, ${products}: no wrong signature leaves after a bit of the opened key has flipped`, {
      skip,
    }, async () => {
      latticeOf(set, products) // what its known answer leaves is no key
      const { result: key, secrets } = await madeBy(() => openMlDsa(set, systemRandom(32), systemRandom, products))
      const kept = secrets.filter((bytes) => bytes.some((byte) => byte !== 0))
      let refused = 0
      for (let i = 0; i < FLIPS; i++) {
        const memory = kept[randomInt(kept.length)]!
        const place = randomInt(memory.length)
        if (!withFlip(memory, place, () => isSigned(set, key, `byte ${place} of ${memory.length}`))) refused++
        if (i % 50 === 0) assert.ok(isSigned(set, key, 'the next one'))
      }
      assert.ok(refused > FLIPS / 4, `${refused}`)
      key.wipe()
    })

    test(`${set}, ${products}: no wrong signature leaves after a bit of the module's memory has flipped`, {
      skip,
    }, () => {
      const lattice = latticeOf(set, products)
      const key = openMlDsa(set, systemRandom(32), systemRandom, products)
      const constants = lattice.bytes.slice(0, lattice.at.secrets)
      const roundConstants = keccakMemory!.slice(0, KECCAK_CONSTANTS)
      let refused = 0
      for (let i = 0; i < FLIPS; i++) {
        const place = randomInt(i % 3 === 0 ? lattice.at.secrets : lattice.at.end)
        const isKeccak = i % 5 === 0
        const flip = () => {
          if (isKeccak) keccakMemory![randomInt(KECCAK_CONSTANTS)]! ^= 1 << randomInt(8)
          else lattice.bytes[place]! ^= 1 << randomInt(8)
        }
        // some calls come before the first round, the check is the last part of them
        const number = randomInt(i % 2 === 0 ? 30 : 250)
        interrupted(lattice, number, flip, () => {
          if (!isSigned(set, key, `byte ${place}, ahead of call ${number}`)) refused++
        })
        lattice.bytes.set(constants)
        keccakMemory!.set(roundConstants)
        if (i % 50 === 0) assert.ok(isSigned(set, key, 'the next one'))
      }
      assert.ok(refused > FLIPS / 10, `${refused}`)
      key.wipe()
    })

    test(`${set}, ${products}: nothing of a key stays`, { skip }, async () => {
      const lattice = latticeOf(set, products)
      const seed = systemRandom(32)
      const { k, block } = expandSeed(lattice, seed)
      const { at } = lattice
      const partOf = (place: number) => block.slice(place - at.matrix + 64, place - at.matrix + 80)
      const hash = keccak(SHAKE256, 128, seed, Uint8Array.of(lattice.parameters.rows, lattice.parameters.columns))
      const patterns = [seed, k, hash.subarray(32, 96), partOf(at.s1), partOf(at.s2), partOf(at.t0)]
      const countIn = (memories: Uint8Array[]) =>
        memories.reduce(
          (sum, memory) => sum + patterns.filter((part) => Buffer.from(memory).includes(Buffer.from(part))).length,
          0,
        )

      const { result: key, secrets: whileOpening } = await madeBy(() => openMlDsa(set, seed, systemRandom, products))
      let found = 0
      const last = () => {
        found = countIn([lattice.bytes])
      }
      const { secrets: whileSigning } = await madeBy(() => {
        interrupted(lattice, 20, last, () => key.sign('ML_DSA', text))
      })
      assert.ok(found >= 3, `only ${found} were found while the key was in use`)
      assert.ok(lattice.bytes.subarray(at.secrets).every((byte) => byte === 0))
      assert.equal(countIn(whileSigning), 0)
      key.wipe()
      assert.equal(countIn([...whileOpening, ...whileSigning, lattice.bytes]), 0)
    })
  }
}

test('nothing of a message or a hash stays in the memory of Keccak, and a changed constant is noticed', async () => {
  const { result: fresh, memories } = await madeBy(async () => {
    const module: typeof Keccak = await import(`../../../../firmware/crypto/engine/keccak.ts?${randomInt(2 ** 40)}`)
    module.keccak(SHAKE256, 1000, randomBytes(50_000))
    return module
  })
  assert.equal(memories.length, 1)
  const [memory] = memories
  assert.ok(memory!.subarray(KECCAK_CONSTANTS).every((byte) => byte === 0))
  for (let place = 0; place < KECCAK_CONSTANTS; place++) {
    withFlip(memory!, place, () => assert.throws(fresh.expectKeccakConstants, /a constant has changed/))
  }
  fresh.expectKeccakConstants()
})
