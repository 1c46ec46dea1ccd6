/** Looks for keys in the memory of another process, in every form in which the engines hold their numbers. proc(5). */

import { createCipheriv, createHmac } from 'node:crypto'
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { sha512 } from '@noble/hashes/sha2.js'
import { shake256 } from '@noble/hashes/sha3.js'
import { isMlDsaKeyType } from '../../firmware/crypto/algorithms.ts'
import { windowsOf } from '../../firmware/crypto/engine/float/field.ts'
import { expandSeed } from '../../firmware/crypto/engine/ml-dsa/key.ts'
import { latticeOf } from '../../firmware/crypto/engine/ml-dsa/sets.ts'
import { expandedMlDsa } from '../../firmware/crypto/ml-dsa/private-key.ts'
import { decodeRsaPrivateKey } from '../../firmware/crypto/rsa/encoding.ts'
import type { KeyType, MlDsaKeyType } from '../../firmware/crypto/types.ts'
import { HMAC_CONTEXT } from './remembering-program.ts'
import { toBigInt } from './rsa-keys.ts'

export interface Traces {
  name: string
  patterns: readonly Buffer[]
  /** Limbs of numbers, without their signs. */
  limbs: readonly number[]
  modulus?: bigint
}

export interface Piece {
  name: string
  what: 'bytes' | 'limb'
  address: string
  /** As proc(5) names it. */
  region: string
}

export interface Found {
  pieces: Piece[]
  /** Names of moduli of which a factor was put together of what lies side by side in memory, without knowing what to look for. */
  factored: string[]
}

export const NOTHING: Found = { pieces: [], factored: [] }

export function tracesOf(
  name: string,
  type: KeyType,
  stored: Uint8Array,
  pem = '',
  texts: readonly string[] = [],
): Traces {
  const { secrets, windows, limbs }: Parts =
    type === 'RSA' ? rsaTraces(stored) : { secrets: bytesOf(type, stored), limbs: curveLimbs(type, stored) }
  const lines = secretLines(type, pem).map((line) => Buffer.from(line.slice(-PATTERN_BYTES)))
  return {
    name,
    patterns: [
      ...[...secrets, ...texts.map((text) => Buffer.from(text))].flatMap(patternsOf),
      ...(windows ? [windows] : []),
      ...lines,
    ],
    limbs: limbs.map((limb) => Math.abs(Number(limb))).filter(isDistinct),
    ...(type === 'RSA' && { modulus: toBigInt(decodeRsaPrivateKey(stored).n) }),
  }
}

/** Lines that tell more than the kind of key and its public part. All but the last one are full. */
function secretLines(type: KeyType, pem: string): string[] {
  const lines = pem.split('\n').filter((line) => line !== '' && !line.startsWith('-'))
  if (type === 'RSA') return lines.slice(Math.ceil(lines.length / 3), -1)
  return type === 'Curve25519' ? lines : lines.slice(0, 1)
}

export const tracesOfText = (name: string, text: string): Traces => ({
  name,
  patterns: patternsOf(Buffer.from(text)),
  limbs: [],
})

const PATTERN_BYTES = 16 // of a part suffice to know it again

/** The beginning, the middle and the end, either way round. */
function patternsOf(secret: Uint8Array): Buffer[] {
  const first = secret.findIndex((byte) => byte !== 0)
  const last = secret.length - PATTERN_BYTES
  return [Math.min(first, last), last >> 1, last].flatMap((start) => {
    const pattern = Buffer.from(secret.slice(start, start + PATTERN_BYTES))
    return [pattern, Buffer.from(pattern).reverse()]
  })
}

function bytesOf(type: KeyType, stored: Uint8Array): Uint8Array[] {
  if (isMlDsaKeyType(type)) return mlDsaSecrets(type, stored)
  if (type === 'Generic') return [stored, ...genericSecrets(stored)]
  return type === 'Curve25519' ? [stored, ...Object.values(expand(stored))] : [stored]
}

/** K1 and the derived key of XAES, and that of a MAC with a context. */
function genericSecrets(key: Uint8Array): Uint8Array[] {
  if (key.length !== 32) return []
  const encrypt = (block: Uint8Array) => createCipheriv('aes-256-ecb', key, null).update(block)
  const l = BigInt(`0x${encrypt(new Uint8Array(16)).toString('hex')}`)
  const k1 = ((l << 1n) & (2n ** 128n - 1n)) ^ (l >> 127n === 1n ? 0x87n : 0n)
  const masked = (counter: bigint) =>
    Buffer.from((((counter << 112n) | (0x5800n << 96n)) ^ k1).toString(16).padStart(32, '0'), 'hex')
  const derived = [1n, 2n].map((counter) => encrypt(masked(counter)))
  const macKey = createHmac('sha256', key).update(HMAC_CONTEXT).digest()
  return [Buffer.from(k1.toString(16).padStart(32, '0'), 'hex'), ...derived, macKey]
}

/** The seed, rho' and K, s1 and the rest as they are packed, and transformed as the engine holds them. FIPS 204. */
function mlDsaSecrets(type: MlDsaKeyType, seed: Uint8Array): Uint8Array[] {
  const lattice = latticeOf(type, 'exact')
  const { rows, columns } = lattice.parameters
  const hash = shake256(Buffer.concat([seed, Uint8Array.of(rows, columns)]), { dkLen: 128 })
  const expanded = expandedMlDsa(type, seed, 'exact')
  const { block } = expandSeed(lattice, seed)
  const { matrix, s1, s2, t0 } = lattice.at
  const parts = [s1, s2, t0].map((place) => block.slice(place - matrix, place - matrix + 256))
  return [seed, hash.slice(32, 96), hash.slice(96), expanded.slice(128), ...parts]
}

/** RFC 8032 5.1.5; the scalar big-endian. */
function expand(seed: Uint8Array): { scalar: Uint8Array; prefix: Uint8Array } {
  const hash = sha512(seed)
  const scalar = hash.slice(0, 32).reverse()
  scalar[31]! &= 0xf8
  scalar[0] = (scalar[0]! & 0x7f) | 0x40
  return { scalar, prefix: hash.slice(32) }
}

function curveLimbs(type: KeyType, stored: Uint8Array): bigint[] {
  if (type === 'Generic' || isMlDsaKeyType(type)) return []
  return limbsOf(toBigInt(type === 'Curve25519' ? expand(stored).scalar : stored))
}

interface Parts {
  secrets: Uint8Array[]
  windows?: Buffer
  limbs: bigint[]
}

/** The numbers of the key, and what both engines compute of each modulus: as bytes, words of 27 bits, and limbs. */
function rsaTraces(stored: Uint8Array): Parts {
  const { p, q, dp, dq, qinv } = decodeRsaPrivateKey(stored)
  const [numbers, primes] = [[p, q, dp, dq, qinv].map(toBigInt), [p, q].map(toBigInt)]
  return {
    secrets: [p, q, dp, dq, qinv, ...primes.flatMap(plainBlock)],
    windows: fastWindows([dp, dq]),
    limbs: [...numbers, ...primes.flatMap(fastConstants)].flatMap(limbsOf),
  }
}

/** : the modulus, R and R^2. */
function plainBlock(modulus: bigint): Uint8Array[] {
  const bits = modulus.toString(2).length
  const R = 1n << BigInt(27 * Math.max(4, 2 * Math.ceil((bits + 2) / 54)))
  return [modulus, R % modulus, (R * R) % modulus].map((number) => {
    const words: number[] = []
    for (let rest = number; rest > 0n; rest >>= 27n) words.push(Number(rest & 0x7ff_ffffn))
    return new Uint8Array(Uint32Array.from(words).buffer)
  })
}

/** Exponents as they lie in memory: so many windows that it is no chance. */
const fastWindows = (exponents: [Uint8Array, Uint8Array]): Buffer =>
  Buffer.from(windowsOf(exponents).buffer).subarray(16 * 4, 16 * 24)

/** firmware/crypto/engine/float/montgomery.ts: B^limbs and its square, negated inverses, and what these scale the modulus to. */
function fastConstants(modulus: bigint): bigint[] {
  return RADICES.flatMap((radix) => {
    const R = 1n << (radix * BigInt(fastLimbs(modulus, radix)))
    const ofDigits = [2n, 4n].flatMap((digits) => {
      const B = 1n << (radix * digits)
      let inverse = 1n
      for (let bits = 1n; bits < radix * digits; bits *= 2n)
        inverse = BigInt.asUintN(Number(radix * digits), inverse * (2n - modulus * inverse))
      const c = B - inverse
      return [c, c - B].flatMap((c) => [c, (c * modulus + 1n) / B])
    })
    return [R % modulus, (R * R) % modulus, (R * R * R) % modulus, ...ofDigits]
  })
}

const RADICES = [51n, 52n] as const
const fastLimbs = (modulus: bigint, radix: bigint): number =>
  Math.ceil((modulus.toString(2).length + 8) / Number(radix))

/** Smaller ones are too often something else. */
const LIMB_MIN = 2 ** 36

/** Not what the top of any small or negative number looks like. */
const isDistinct = (limb: number): boolean =>
  [0, 2 ** 50, 2 ** 51, 2 ** 52].every((end) => Math.abs(limb - end) >= LIMB_MIN)

/** From zero up and around zero: firmware/crypto/engine/float/format.ts. */
function limbsOf(number: bigint): bigint[] {
  return RADICES.flatMap((radix) =>
    [0n, 1n << (radix - 1n)].flatMap((half) => {
      const limbs: bigint[] = []
      for (let rest = number; rest !== 0n && rest !== -1n; ) {
        const limb = BigInt.asUintN(Number(radix), rest + half) - half
        limbs.push(limb)
        rest = (rest - limb) >> radix
      }
      return limbs
    }),
  )
}

const CHUNK_BYTES = 16 * 1024 * 1024
const OVERLAP_BYTES = 2048 // what lies on the seam of two chunks is found, too
const chunk = Buffer.from(new ArrayBuffer(CHUNK_BYTES + OVERLAP_BYTES))
const integers = new Float64Array(chunk.length / 8)

export function search(pid: number, all: readonly Traces[]): Found {
  const patterns = new Patterns(all)
  const limbs = new Map(all.flatMap(({ name, limbs }) => limbs.map((limb) => [limb, name] as const)))
  const factoring = all.flatMap(({ name, modulus }) => (modulus === undefined ? [] : new Factoring(name, modulus)))
  const pieces: Piece[] = []
  for (const { bytes, at, region } of memoryOf(pid)) {
    const note = (what: Piece['what'], name: string, offset: number): void => {
      pieces.push({ name, what, address: (at + offset).toString(16), region })
    }
    patterns.findIn(bytes, (name, offset) => note('bytes', name, offset))
    const numbers = integersIn(bytes)
    for (let i = 0; i < numbers.length; i++) {
      const number = Math.abs(numbers[i]!)
      if (number < LIMB_MIN) continue
      const name = limbs.get(number)
      if (name !== undefined) note('limb', name, 8 * i)
    }
    if (factoring.length > 0) for (const run of runsIn(numbers)) for (const each of factoring) each.add(run)
  }
  return { pieces, factored: factoring.filter((each) => each.isDone).map(({ name }) => name) }
}

interface Chunk {
  bytes: Buffer
  at: number
  region: string
}

function* memoryOf(pid: number): Generator<Chunk> {
  const [memory, pages] = [openSync(`/proc/${pid}/mem`, 'r'), openSync(`/proc/${pid}/pagemap`, 'r')]
  try {
    for (const line of readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')) {
      const match = /^([0-9a-f]+)-([0-9a-f]+) r(w|-).. \S+ \S+ (\d+) *(.*)/.exec(line)
      if (match === null || (match[3] === '-' && match[4] !== '0')) continue
      const region = `${match[1]}-${match[2]} ${match[5] || 'anonymous'}`
      for (const [start, end] of touched(pages, Number(`0x${match[1]}`), Number(`0x${match[2]}`))) {
        for (let at = start; at < end; at += CHUNK_BYTES) {
          yield { bytes: readMemory(memory, at, Math.min(chunk.length, end - at)), at, region }
        }
      }
    }
  } finally {
    closeSync(memory)
    closeSync(pages)
  }
}

/** V8 maps half a gigabyte for code and touches little of it: ranges of pages that are in memory or swapped. */
function touched(pages: number, start: number, end: number): [start: number, end: number][] {
  const ranges: [number, number][] = []
  const entries = Buffer.alloc(((end - start) / PAGE_BYTES) * 8)
  readSync(pages, entries, 0, entries.length, (start / PAGE_BYTES) * 8)
  for (let i = 0; i < entries.length; i += 8) {
    if (entries[i + 7]! < 0x40) continue
    const at = start + (i / 8) * PAGE_BYTES
    const last = ranges.at(-1)
    if (last?.[1] === at) last[1] += PAGE_BYTES
    else ranges.push([at, at + PAGE_BYTES])
  }
  return ranges
}

const PAGE_BYTES = 4096

function readMemory(memory: number, at: number, length: number): Buffer {
  try {
    return chunk.subarray(0, readSync(memory, chunk, 0, length, at))
  } catch {
    return chunk.subarray(0, 0) // unmapped since, or guarded
  }
}

const HASH_BITS = 20 // thousands of patterns take less than a hundredth of the hashes

/** Many at once: a hash of the first four bytes tells which of them may begin at a byte. */
class Patterns {
  readonly #of = new Map<number, { name: string; pattern: Buffer }[]>()
  readonly #begins = new Uint8Array(2 ** HASH_BITS)

  constructor(all: readonly Traces[]) {
    for (const { name, patterns } of all) {
      for (const pattern of patterns) {
        const first = pattern.readInt32LE()
        this.#of.set(first, [...(this.#of.get(first) ?? []), { name, pattern }])
        this.#begins[hashOf(first)] = 1
      }
    }
  }

  findIn(piece: Buffer, found: (name: string, offset: number) => void): void {
    let first = 0
    for (let i = -3; i + 4 <= piece.length; i++) {
      first = (first >>> 8) | (piece[i + 3]! << 24)
      if (i < 0) continue
      if (this.#begins[hashOf(first)] === 0) continue
      for (const { name, pattern } of this.#of.get(first) ?? []) {
        let k = 4
        while (k < pattern.length && piece[i + k] === pattern[k]) k++
        if (k === pattern.length) found(name, i)
      }
    }
  }
}

const hashOf = (word: number): number => Math.imul(word, 0x9e3779b1) >>> (32 - HASH_BITS)

const WORD = 2 ** 32
const ADDRESS_MAX = 2 ** (47 - 32)
const DOUBLE_2_52 = 0x433 // the first bits of doubles from 2^52 to 2^53
const DOUBLE_2_32 = 0x41f
const DOUBLE_3_2_51 = 3 * 2 ** 51

/**
 * Possible limb in each eight bytes, 0 for none: a double from 2^32 to 2^52 of either sign, an integer, or
 * either on top of 2^52 or 3 * 2^51. Negative, too, where it is more likely an address.
 */
function integersIn(piece: Buffer): Float64Array {
  const count = piece.length >> 3
  const doubles = new Float64Array(piece.buffer, piece.byteOffset, count)
  const words = new Uint32Array(piece.buffer, piece.byteOffset, 2 * count)
  for (let i = 0; i < count; i++) {
    const high = words[2 * i + 1]!
    integers[i] = 0
    if (high === 0) continue
    const exponent = (high >>> 20) & 0x7ff
    if (high < 0x100000) integers[i] = (high * WORD + words[2 * i]!) * (high < ADDRESS_MAX ? -1 : 1)
    else if (high >>> 20 === DOUBLE_2_52) {
      const low = (high & 0xfffff) * WORD + words[2 * i]!
      integers[i] = high & 0x80000 ? doubles[i]! - DOUBLE_3_2_51 : low
    } else if (exponent >= DOUBLE_2_32 && exponent < DOUBLE_2_52) {
      if (Number.isInteger(doubles[i]!)) integers[i] = doubles[i]!
    }
  }
  return integers.subarray(0, count)
}

const RUN_LIMBS_MIN = 16 // full ones, of which the smallest primes looked for here are made
const FULL_LIMB = 2 ** 36 // or more: few limbs have fewer bits

/** Limbs of RSA side by side, which are never negative: those of one number after the other, or of two or four numbers in lanes or columns. */
function* runsIn(numbers: Float64Array): Generator<Float64Array> {
  for (const stride of [1, 2]) {
    const starts = new Int32Array(stride).fill(-1)
    for (let i = 0; i < numbers.length; i++) {
      const lane = i % stride
      if (numbers[i]! >= FULL_LIMB) {
        if (starts[lane]! < 0) starts[lane] = i
        continue
      }
      const start = starts[lane]!
      starts[lane] = -1
      if (start < 0 || (i - start) / stride < RUN_LIMBS_MIN) continue
      yield Float64Array.from({ length: (i - start) / stride + 1 }, (_, k) => numbers[start + k * stride]!)
    }
  }
}

class Factoring {
  readonly name: string
  readonly #modulus: bigint
  readonly #limbs: number
  #product = 1n

  constructor(name: string, modulus: bigint) {
    this.name = name
    this.#modulus = modulus
    const half = 1n << BigInt(modulus.toString(2).length >> 1)
    this.#limbs = fastLimbs(half - 1n, 52n)
  }

  /** A prime itself; as it is scaled: (c p + 1) / B^digits; and what is B^limbs or its square modulo p. */
  add(run: Float64Array): void {
    const R = 1n << BigInt(52 * this.#limbs)
    const [mask, square] = [R - 1n, R * R]
    let value = 0n
    for (let k = run.length - 1; k >= 0; k--) {
      value = ((value << 52n) | BigInt(run[k]!)) & mask
      if (run.length - k < this.#limbs - 1) continue
      for (const number of [value, (value << 104n) - 1n, (value << 208n) - 1n, value - R, value - square]) {
        const next = (this.#product * number) % this.#modulus
        if (number !== 0n) this.#product = next
      }
    }
  }

  get isDone(): boolean {
    let [a, b] = [this.#modulus, this.#product]
    while (b !== 0n) [a, b] = [b, a % b]
    return a !== 1n
  }
}
