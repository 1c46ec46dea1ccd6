/**
 * Keccak as generated WebAssembly: SHA-3 and SHAKE, one state at a time or two side by side in the lanes of vectors. FIPS 202.
 * For secrets: nothing stays in its memory. ML-DSA has the same permutation in a memory of its own (`defineKeccak`).
 */

import { newSecret } from '../../base/secret.ts'
import { balance, defineConstantsDefect } from './constants.ts'
import { Fault } from './fault.ts'
import { type Code, i32, i64, i64x2, ifThen, type Local, type NewLocal, repeatWhile, v128, WasmModule } from './wasm.ts'

/** How many bytes a block has, and the first byte behind a message: domain and padding. */
export interface Variant {
  rateBytes: number
  suffix: number
}

export const SHAKE128: Variant = { rateBytes: 168, suffix: 0x1f }
export const SHAKE256: Variant = { rateBytes: 136, suffix: 0x1f }
export const SHA3_256: Variant = { rateBytes: 136, suffix: 0x06 }
export const SHA3_512: Variant = { rateBytes: 72, suffix: 0x06 }

/** So many bytes of the hash of the parts, one after the other. */
export function keccak(variant: Variant, bytes: number, ...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  opened ??= open()
  const { code, memory } = opened
  const { rateBytes } = variant
  const chunkBytes = CHUNK_BLOCKS * rateBytes
  try {
    let used = 0
    for (const part of parts) {
      for (let at = 0; at < part.length; ) {
        const taken = part.subarray(at, at + chunkBytes - used)
        memory.set(taken, MESSAGE + used)
        at += taken.length
        used += taken.length
        if (used < chunkBytes) continue
        code.absorb(STATE, MESSAGE, CHUNK_BLOCKS, rateBytes / 8)
        used = 0
      }
    }
    code.absorb(STATE, MESSAGE, pad(memory, MESSAGE, used, variant), rateBytes / 8)
    const hash = newSecret(bytes)
    for (let at = 0; at < bytes; at += rateBytes) {
      if (at > 0) code.permute(STATE)
      hash.set(memory.subarray(STATE, STATE + Math.min(rateBytes, bytes - at)), at)
    }
    return hash
  } finally {
    memory.fill(0, STATE, END)
  }
}

/** Throws when the constants are not what they were when this was first used. */
export function expectKeccakConstants(): void {
  if (opened !== undefined && opened.code.constantsDefect() !== 0) throw new Fault('a constant has changed in memory')
}

/** Ends a message of so many bytes in memory, and says how many blocks it has now. */
export function pad(memory: Uint8Array, message: number, bytes: number, { rateBytes, suffix }: Variant): number {
  const blocks = Math.floor(bytes / rateBytes) + 1
  const end = message + blocks * rateBytes
  memory.fill(0, message + bytes, end)
  memory[message + bytes] = suffix
  memory[end - 1]! |= 0x80
  return blocks
}

/** A state has 25 words of eight bytes, of a pair 25 vectors; zero before its first block, and to be wiped. Words are those of a block. */
export interface KeccakCode {
  permute(state: number): void
  /** Adds blocks of a message, and permutes after each. */
  absorb(state: number, message: number, blocks: number, words: number): void
  /** Takes blocks out, and permutes between two. */
  squeeze(state: number, to: number, blocks: number, words: number): void
  permutePair(state: number): void
  absorbPair(state: number, first: number, second: number, blocks: number, words: number): void
  squeezePair(state: number, first: number, second: number, blocks: number, words: number): void
}

const WORDS = 25
export const STATE_BYTES = 8 * WORDS
export const PAIR_BYTES = 16 * WORDS
const ROUNDS = 24

/** Adds the functions of `KeccakCode`, which expect the round constants at that address. */
export function defineKeccak(module: WasmModule, constants: number): void {
  define(module, SINGLE, constants, '')
  define(module, PAIR, constants, 'Pair')
}

export const roundConstants = (): BigUint64Array<ArrayBuffer> => {
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

/** How far the word at x + 5 y is rotated: FIPS 202, table 2, modulo 64. */
const ROTATIONS = [0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14]

/** The same word of one state, or of two. */
interface Width {
  type: 'i64' | 'v128'
  bytes: number
  load(address: Local, offset: number): Code
  store(address: Local, value: Code | Local, offset: number): Code
  xor(a: Code | Local, b: Code | Local): Code
  /** a and not b. */
  andnot(a: Local, b: Local): Code
  rotate(a: Local, bits: number): Code
  roundConstant(address: Local, offset: number): Code
  /** One word of each message. */
  read(from: readonly Local[]): Code
  write(to: readonly Local[], word: Local): Code
}

const SINGLE: Width = {
  type: 'i64',
  bytes: 8,
  load: i64.load,
  store: i64.store,
  xor: i64.xor,
  andnot: (a, b) => i64.and(a, i64.xor(b, -1)),
  rotate: i64.rotl,
  roundConstant: i64.load,
  read: ([from]) => i64.load(from!),
  write: ([to], word) => i64.store(to!, word),
}

const PAIR: Width = {
  type: 'v128',
  bytes: 16,
  load: v128.load,
  store: v128.store,
  xor: v128.xor,
  andnot: v128.andnot,
  rotate: (a, bits) => (bits === 0 ? a.get : v128.or(i64x2.shl(a, bits), i64x2.shrU(a, 64 - bits))),
  roundConstant: v128.load64Splat,
  read: ([first, second]) => v128.load64Lane(second!, v128.load64Zero(first!), 1),
  write: ([first, second], word) => [...v128.store64Lane(first!, word, 0), ...v128.store64Lane(second!, word, 1)],
}

function define(module: WasmModule, width: Width, constants: number, suffix: '' | 'Pair'): void {
  const permute = module.define(`permute${suffix}`, ['i32'], [], ([state], local) => {
    const newState = () => Array.from({ length: WORDS }, () => local(width.type))
    const [words, next] = [newState(), newState()]
    const round = local('i32')
    const steps = rounds(width, local)
    return [
      ...words.map((word, i) => word.set(width.load(state!, i * width.bytes))),
      round.set(i32.add(constants, 0)),
      repeatWhile(
        [...steps(words, next, round, 0), ...steps(next, words, round, 8), round.set(i32.add(round, 16))],
        i32.ltU(round, constants + 8 * ROUNDS),
      ),
      ...words.map((word, i) => width.store(state!, word, i * width.bytes)),
    ]
  })
  const streams = width === PAIR ? 2 : 1
  const parameters = Array.from({ length: 3 + streams }, () => 'i32' as const)
  /** Calls `work` for each word of each block, with where the word lies in the state and in the messages. */
  const eachWord = (
    [state, ...rest]: readonly Local[],
    local: NewLocal,
    work: (word: Local, messages: readonly Local[]) => readonly Code[],
    afterBlock: (blocks: Local) => readonly Code[],
  ): Code[] => {
    const [messages, blocks, words] = [rest.slice(0, streams), rest[streams]!, rest[streams + 1]!]
    const [word, left] = [local('i32'), local('i32')]
    const advance = [word.set(i32.add(word, width.bytes)), ...messages.map((at) => at.set(i32.add(at, 8)))]
    const block = [
      word.set(state!.get),
      left.set(words.get),
      repeatWhile([...work(word, messages), ...advance], left.tee(i32.sub(left, 1))),
    ]
    return [repeatWhile([...block, ...afterBlock(blocks)], blocks.tee(i32.sub(blocks, 1)))]
  }
  module.define(`absorb${suffix}`, parameters, [], (operands, local) => {
    const add = (word: Local, messages: readonly Local[]) => [
      width.store(word, width.xor(width.load(word, 0), width.read(messages)), 0),
    ]
    return eachWord(operands, local, add, () => [permute(operands[0]!)])
  })
  module.define(`squeeze${suffix}`, parameters, [], (operands, local) => {
    const scratch = local(width.type)
    const take = (word: Local, messages: readonly Local[]) => [
      scratch.set(width.load(word, 0)),
      width.write(messages, scratch),
    ]
    return eachWord(operands, local, take, (blocks) => [ifThen(i32.gtU(blocks, 1), [permute(operands[0]!)])])
  })
}

/** One round, from some variables into others. */
function rounds(width: Width, local: NewLocal) {
  const newRow = () => Array.from({ length: 5 }, () => local(width.type))
  const [columns, mixed, row] = [newRow(), newRow(), newRow()]
  const { xor } = width
  return (from: readonly Local[], to: readonly Local[], round: Local, offset: number): Code[] => [
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
        return to[x + 5 * y]!.set(x + y === 0 ? xor(chosen, width.roundConstant(round, offset)) : chosen)
      }),
    ]),
  ]
}

/** The memory: round constants and their balance, then what is secret: the state, and a part of the message. */
const STATE = 8 * ROUNDS + 16
const MESSAGE = STATE + STATE_BYTES
const CHUNK_BLOCKS = 32
const END = MESSAGE + CHUNK_BLOCKS * SHAKE128.rateBytes

interface Opened {
  code: KeccakCode & { constantsDefect(): number }
  memory: Uint8Array
}

let opened: Opened | undefined

/** At the first use. */
function open(): Opened {
  const module = new WasmModule(1)
  defineKeccak(module, 0)
  defineConstantsDefect(module, STATE)
  const exports = module.instantiate()
  const memory = new Uint8Array(exports.memory.buffer)
  const constants = new Uint8Array(roundConstants().buffer)
  memory.set(constants)
  memory.set(balance(constants), constants.length)
  return { code: exports as unknown as Opened['code'], memory }
}
