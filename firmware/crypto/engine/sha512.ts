/**
 * SHA-512 and HMAC-SHA-512 as generated WebAssembly, since JavaScript lacks 64-bit integers. FIPS 180-4, FIPS 198-1 (RFC 2104).
 * For secrets: the memory is cleared after use.
 */

import { transientSecret, wipe } from '../../base/secret.ts'
import { balance, defineConstantsDefect } from './constants.ts'
import { Fault } from './fault.ts'
import { type Code, i8x16, i32, i64, type Local, repeatWhile, v128, WasmModule } from './wasm.ts'

const BLOCK_BYTES = 128
const DIGEST_BYTES = 64
const ROUNDS = 80

/** Returns the transient hash of the concatenated parts. */
export function sha512(...parts: Uint8Array[]): Uint8Array {
  opened ??= open()
  try {
    return hash(opened, parts)
  } finally {
    opened.memory.fill(0, STATE, end)
    end = MESSAGE
  }
}

/** Throws `RangeError` for keys longer than a block, which do not occur here. */
export function hmacSha512(key: Uint8Array, ...parts: Uint8Array[]): Uint8Array {
  if (key.length > BLOCK_BYTES) throw new RangeError('key: longer than a block of SHA-512')
  pad.set(key)
  for (let i = 0; i < BLOCK_BYTES; i++) pad[i]! ^= 0x36
  const digest = sha512(pad, ...parts)
  for (let i = 0; i < BLOCK_BYTES; i++) pad[i]! ^= 0x36 ^ 0x5c
  try {
    return sha512(pad, digest)
  } finally {
    wipe(pad, digest)
  }
}

/** Throws `Fault` if the constants have changed since the first use: a flipped bit would change all hashes. */
export function expectConstants(): void {
  if (opened !== undefined && opened.compress.constantsDefect() !== 0)
    throw new Fault('a constant has changed in memory')
}

/** Zeros between uses. */
const pad = new Uint8Array(BLOCK_BYTES)

/**
 * Memory: round constants, the initial state, and the balance that makes their sum zero. Then secrets: the state, the message
 * schedule, and a padded part of the message.
 */
const CONSTANTS = 0
const INITIAL_STATE = CONSTANTS + 8 * ROUNDS
const BALANCE = INITIAL_STATE + DIGEST_BYTES
const STATE = BALANCE + 16
const SCHEDULE = STATE + DIGEST_BYTES
const MESSAGE = SCHEDULE + BLOCK_BYTES
const CHUNK_BYTES = 256 * BLOCK_BYTES
const PAGES = 1

/** Shuffle that reverses the bytes of two 64-bit words. */
const BIG_ENDIAN = [7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8]

interface Opened {
  compress: Compression
  memory: Uint8Array
  view: DataView
}

let opened: Opened | undefined

/** Compiled at first use, since the thread that serves requests does not need it. */
function open(): Opened {
  const compress = emit()
  const memory = new Uint8Array(compress.memory.buffer)
  const words = new BigUint64Array(compress.memory.buffer)
  const constants = [...rootFractions(ROUNDS, 3), ...rootFractions(8, 2)]
  words.set(constants)
  memory.set(balance(memory.subarray(0, BALANCE)), BALANCE)
  return { compress, memory, view: new DataView(compress.memory.buffer) }
}

/** End of the memory that has been written. */
let end = MESSAGE

function hash({ compress, memory, view }: Opened, parts: readonly Uint8Array[]): Uint8Array {
  memory.copyWithin(STATE, INITIAL_STATE, BALANCE)
  let [length, used] = [0, 0]
  for (const part of parts) {
    length += part.length
    for (let at = 0; at < part.length; ) {
      const taken = at === 0 && part.length <= CHUNK_BYTES - used ? part : part.subarray(at, at + CHUNK_BYTES - used)
      memory.set(taken, MESSAGE + used)
      at += taken.length
      used += taken.length
      end = Math.max(end, MESSAGE + used)
      if (used < CHUNK_BYTES) continue
      compress.blocks(MESSAGE, CHUNK_BYTES / BLOCK_BYTES)
      used = 0
    }
  }
  const blocks = Math.ceil((used + 1 + 16) / BLOCK_BYTES)
  const padded = MESSAGE + blocks * BLOCK_BYTES
  end = Math.max(end, padded)
  memory.fill(0, MESSAGE + used, padded)
  memory[MESSAGE + used] = 0x80
  view.setUint32(padded - 8, Math.floor(length / 2 ** 29))
  view.setUint32(padded - 4, (length << 3) >>> 0)
  compress.blocks(MESSAGE, blocks)
  const digest = transientSecret(DIGEST_BYTES)
  for (let i = 0; i < DIGEST_BYTES; i++) digest[i] = memory[STATE + (i ^ 7)]! // words in memory are little-endian
  return digest
}

interface Compression {
  readonly memory: { readonly buffer: ArrayBuffer }
  /** Processes `count` blocks of the message, at least one. */
  blocks(message: number, count: number): void
  constantsDefect(): number
}

function emit(): Compression {
  const module = new WasmModule(PAGES)
  module.define('blocks', ['i32', 'i32'], [], ([message, count], local) => {
    const state = Array.from({ length: 8 }, () => local('i64'))
    const [word, sum] = [local('i64'), local('i64')]
    const [round, turns] = [local('i32'), local('i32')]
    const xor = (...values: Code[]): Code => values.reduce((a, b) => i64.xor(a, b))
    const add = (...values: Code[]): Code => values.reduce((a, b) => i64.add(a, b))
    const rotate = (value: Local, ...bits: number[]): Code[] => bits.map((count) => i64.rotr(value, count))
    const schedule = (i: number): Code => i64.load(0, SCHEDULE + 8 * (i % 16))

    /** Round `i` of each sixteen, after which the variables have their initial roles again, followed by word `i` of the next sixteen. */
    const rounds = Array.from({ length: 16 }, (_, i) => {
      const [a, b, c, d, e, f, g, h] = Array.from({ length: 8 }, (_, k) => state[(k + 8 - (i % 8)) % 8]!) as Eight
      const choice = xor(g.get, i64.and(e, i64.xor(f, g)))
      const majority = i64.or(i64.and(a, b), i64.and(c, i64.or(a, b)))
      return [
        word.set(schedule(i)),
        sum.set(add(h.get, xor(...rotate(e, 14, 18, 41)), choice, i64.load(round, CONSTANTS + 8 * i), word.get)),
        d.set(i64.add(d, sum)),
        h.set(add(sum.get, xor(...rotate(a, 28, 34, 39)), majority)),
        sum.set(add(word.get, schedule(i + 9))),
        word.set(schedule(i + 1)),
        sum.set(add(sum.get, xor(...rotate(word, 1, 8), i64.shrU(word, 7)))),
        word.set(schedule(i + 14)),
        i64.store(0, add(sum.get, xor(...rotate(word, 19, 61), i64.shrU(word, 6))), SCHEDULE + 8 * i),
      ]
    })
    return [
      repeatWhile(
        [
          ...Array.from({ length: 8 }, (_, i) =>
            v128.store(0, i8x16.shuffle(v128.load(message!, 16 * i), BIG_ENDIAN), SCHEDULE + 16 * i),
          ),
          ...state.map((value, k) => value.set(i64.load(0, STATE + 8 * k))),
          round.set(i32.add(0, 0)),
          turns.set(i32.add(ROUNDS / 16, 0)),
          repeatWhile([...rounds.flat(), round.set(i32.add(round, BLOCK_BYTES))], turns.tee(i32.sub(turns, 1))),
          ...state.map((value, k) => i64.store(0, i64.add(value, i64.load(0, STATE + 8 * k)), STATE + 8 * k)),
          message!.set(i32.add(message!, BLOCK_BYTES)),
        ],
        count!.tee(i32.sub(count!, 1)),
      ),
    ]
  })
  defineConstantsDefect(module, STATE)
  return module.instantiate() as unknown as Compression
}

type Eight = [Local, Local, Local, Local, Local, Local, Local, Local]

/** First 64 fractional bits of the square or cube roots of the first primes. */
function rootFractions(primes: number, degree: 2 | 3): BigUint64Array {
  const found: number[] = []
  for (let n = 2; found.length < primes; n++) if (found.every((p) => n % p !== 0)) found.push(n)
  return BigUint64Array.from(found, (prime) => BigInt.asUintN(64, root(BigInt(prime) << BigInt(64 * degree), degree)))
}

/** Floor of the root. */
function root(value: bigint, degree: 2 | 3): bigint {
  let x = 1n
  for (let bit = 1n << 69n; bit > 0n; bit >>= 1n) if ((x + bit) ** BigInt(degree) <= value) x += bit
  return x
}
