/**
 * Keccak as generated WebAssembly (FIPS 202): SHA-3 and SHAKE, one message at a time, or two in the lanes of vectors. For
 * secrets: the memory is cleared after each use.
 */

import { newSecret } from '../../base/secret.ts'
import { balance, defineConstantsDefect } from './constants.ts'
import { Fault } from './fault.ts'
import { type Code, i32, i64, i64x2, type Local, type NewLocal, repeatWhile, v128, WasmModule } from './wasm.ts'

/** Bytes of a block, and the first byte after a message: domain and padding. */
export interface Variant {
  rateBytes: number
  suffix: number
}

export const SHAKE128: Variant = { rateBytes: 168, suffix: 0x1f }
export const SHAKE256: Variant = { rateBytes: 136, suffix: 0x1f }
export const SHA3_256: Variant = { rateBytes: 136, suffix: 0x06 }
export const SHA3_512: Variant = { rateBytes: 72, suffix: 0x06 }

/** Returns `bytes` bytes of the hash of the concatenated parts. */
export function keccak(variant: Variant, bytes: number, ...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  opened ??= open()
  const { code, memory } = opened
  const { rateBytes } = variant
  const hash = newSecret(bytes)
  try {
    let used = 0
    for (const part of parts) {
      for (let at = 0; at < part.length; ) {
        const taken = part.subarray(at, at + rateBytes - used)
        memory.set(taken, BLOCK + used)
        at += taken.length
        used += taken.length
        if (used < rateBytes) continue
        code.absorb(STATE, SINGLE.bytes, BLOCK, rateBytes)
        code.permute()
        used = 0
      }
    }
    pad(memory, used, variant)
    code.absorb(STATE, SINGLE.bytes, BLOCK, rateBytes)
    for (let at = 0; at < bytes; at += rateBytes) {
      code.permute()
      hash.set(memory.subarray(STATE, STATE + Math.min(rateBytes, bytes - at)), at)
    }
    return hash
  } finally {
    memory.fill(0, STATE, END) // also resets the state for the next hash
  }
}

type Pair<T> = readonly [T, T]

/**
 * Fills `to` with the hashes of a seed followed by one or the other 16-bit number. Each input is shorter than a block, each
 * output at most 1,008 bytes.
 */
export function keccakPair(variant: Variant, seed: Uint8Array, numbers: Pair<number>, to: Pair<Uint8Array>): void {
  opened ??= open()
  const { code, memory } = opened
  const { rateBytes } = variant
  const words = [STATE, STATE + 8] as const // first word of each lane
  try {
    for (const [lane, number] of numbers.entries()) {
      memory.set(seed, BLOCK)
      memory.set([number, number >> 8], BLOCK + seed.length)
      pad(memory, seed.length + 2, variant)
      code.absorb(words[lane as 0 | 1], PAIR.bytes, BLOCK, rateBytes)
    }
    for (let at = 0; at < to[0].length; at += rateBytes) {
      code.permutePair()
      for (const lane of [0, 1] as const) code.squeeze(words[lane], PAIR.bytes, HASHES[lane] + at, rateBytes)
    }
    for (const lane of [0, 1] as const) to[lane].set(memory.subarray(HASHES[lane], HASHES[lane] + to[lane].length))
  } finally {
    memory.fill(0, STATE, END) // also resets the state for the next hash
  }
}

/** Throws `Fault` if the constants have changed since the first use. */
export function expectKeccakConstants(): void {
  if (opened !== undefined && opened.code.constantsDefect() !== 0) throw new Fault('a constant has changed in memory')
}

/** Pads a message whose last block contains `bytes` bytes. */
function pad(memory: Uint8Array, bytes: number, { rateBytes, suffix }: Variant): void {
  memory.fill(0, BLOCK + bytes, BLOCK + rateBytes)
  memory[BLOCK + bytes] = suffix
  memory[BLOCK + rateBytes - 1]! |= 0x80
}

const WORDS = 25 // of eight bytes, of a state
const ROUNDS = 24

/** Rotation of the word at x + 5 y: FIPS 202, table 2, modulo 64. */
const ROTATIONS = [0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14]

/** Operations on a word of one state, or on the same word of two. `andnot` is a and not b. */
const SINGLE = {
  ...i64,
  type: 'i64',
  bytes: 8,
  andnot: (a: Local, b: Local): Code => i64.and(a, i64.xor(b, -1)),
  rotate: i64.rotl,
  roundConstant: i64.load,
} as const
const PAIR = {
  ...v128,
  type: 'v128',
  bytes: 16,
  rotate: (a: Local, bits: number): Code =>
    bits === 0 ? a.get : v128.or(i64x2.shl(a, bits), i64x2.shrU(a, 64 - bits)),
  roundConstant: (address: Local, offset: number): Code => i64x2.splat(i64.load(address, offset)),
} as const
type Width = typeof SINGLE | typeof PAIR

function definePermutation(module: WasmModule, name: string, width: Width): void {
  module.define(name, [], [], (_, local) => {
    const newState = () => Array.from({ length: WORDS }, () => local(width.type))
    const [words, next] = [newState(), newState()]
    const constants = local('i32')
    const steps = rounds(width, local)
    return [
      ...words.map((word, i) => word.set(width.load(STATE, i * width.bytes))),
      repeatWhile(
        [...steps(words, next, constants, 0), ...steps(next, words, constants, 8)],
        i32.ltU(constants.tee(i32.add(constants, 16)), 8 * ROUNDS),
      ),
      ...words.map((word, i) => width.store(STATE, word, i * width.bytes)),
    ]
  })
}

function rounds(width: Width, local: NewLocal) {
  const newRow = () => Array.from({ length: 5 }, () => local(width.type))
  const [columns, mixed, row] = [newRow(), newRow(), newRow()]
  const { xor } = width
  return (from: readonly Local[], to: readonly Local[], constants: Local, offset: number): Code[] => [
    ...columns.map((column, x) =>
      column.set(xor(from[x]!, xor(xor(from[x + 5]!, from[x + 10]!), xor(from[x + 15]!, from[x + 20]!)))),
    ),
    ...mixed.map((word, x) => word.set(xor(columns[(x + 4) % 5]!, width.rotate(columns[(x + 1) % 5]!, 1)))),
    ...[0, 1, 2, 3, 4].flatMap((y) => [
      ...row.flatMap((word, x) => {
        const source = (x + 3 * y) % 5
        const turned = word.set(xor(from[source + 5 * x]!, mixed[source]!))
        return [turned, word.set(width.rotate(word, ROTATIONS[source + 5 * x]!))]
      }),
      ...row.map((word, x) => {
        const chosen = xor(word, width.andnot(row[(x + 2) % 5]!, row[(x + 1) % 5]!))
        return to[x + 5 * y]!.set(x + y === 0 ? xor(chosen, width.roundConstant(constants, offset)) : chosen)
      }),
    ]),
  ]
}

/** Memory: round constants and their balance, then secrets: one or two states, a block of a message, and two hashes. */
const STATE = 8 * ROUNDS + 16
const BLOCK = STATE + PAIR.bytes * WORDS
const HASHES = [BLOCK + SHAKE128.rateBytes, BLOCK + 7 * SHAKE128.rateBytes] as const // at most six blocks each
const END = BLOCK + 13 * SHAKE128.rateBytes

type KeccakCode = Record<
  'permute' | 'permutePair' | 'absorb' | 'squeeze' | 'constantsDefect',
  (...operands: number[]) => number
>

let opened: ReturnType<typeof open> | undefined

function open() {
  const module = new WasmModule(1)
  definePermutation(module, 'permute', SINGLE)
  definePermutation(module, 'permutePair', PAIR)
  /** Copies between a block and the words from `word` on, which are `step` bytes apart. */
  const define = (name: 'absorb' | 'squeeze', work: (word: Local, at: Local) => Code) =>
    module.define(name, ['i32', 'i32', 'i32', 'i32'], [], ([word, step, at, left]) => {
      const advance = [word!.set(i32.add(word!, step!)), at!.set(i32.add(at!, 8))]
      return [repeatWhile([work(word!, at!), ...advance], left!.tee(i32.sub(left!, 8)))]
    })
  define('absorb', (word, at) => i64.store(word, i64.xor(i64.load(word), i64.load(at))))
  define('squeeze', (word, at) => i64.store(at, i64.load(word)))
  defineConstantsDefect(module, STATE)
  const exports = module.instantiate()
  const memory = new Uint8Array(exports.memory.buffer)
  const constants = new Uint8Array(roundConstants().buffer)
  memory.set(constants)
  memory.set(balance(constants), constants.length)
  return { code: exports as unknown as KeccakCode, memory }
}

function roundConstants(): BigUint64Array<ArrayBuffer> {
  const constants = new BigUint64Array(ROUNDS)
  let register = 1 // FIPS 202, algorithm 5
  for (let round = 0; round < ROUNDS; round++) {
    for (let j = 0; j <= 6; j++) {
      if (register & 1) constants[round]! |= 1n << BigInt(2 ** j - 1)
      register = register & 0x80 ? (register << 1) ^ 0x171 : register << 1
    }
  }
  return constants
}
