/**
 * scryptROMix, the slow part of scrypt, as generated WebAssembly: RFC 7914, sections 3 to 5. It runs at full speed at once, while
 * JavaScript would first be interpreted. For secrets: the memory is cleared after use.
 */

import { wipe } from '../../base/secret.ts'
import { type Code, i8x16, i32, i32x4, type Local, repeatWhile, v128, WasmModule } from './wasm.ts'

const SALSA_BYTES = 64
const SALSA_DOUBLE_ROUNDS = 4
const VECTOR_BYTES = 16
const PAGE_BYTES = 65536
/** Upper bound of the memory for mixing two blocks at once: as much as one block takes at the cost of passphrases. */
const PAIR_BYTES_MAX = 32 * 1024 * 1024

/** Mixes each block of 128 r bytes in place. N is a power of two, at least 2. */
export function mixBlocks(blocks: Uint8Array, N: number, r: number): void {
  const blockBytes = 2 * SALSA_BYTES * r
  const memoryBytes = blockBytes * (N + 2)
  const ways = blocks.length > blockBytes && 2 * blockBytes * N <= PAIR_BYTES_MAX ? 2 : 1
  // Allocates memory for each call: it is large, and not retained between derivations.
  const mixer = moduleFor(ways, memoryBytes)()
  const memory = new Uint8Array(mixer.memory.buffer)
  const words = new Uint32Array(blockBytes / 4)
  const bytes = new Uint8Array(words.buffer)
  const wordsAt = (place: number) => new Uint32Array(mixer.memory.buffer, place, words.length)
  const firsts = Array.from({ length: ways }, (_, way) => wordsAt(way * memoryBytes))
  const lasts = Array.from({ length: ways }, (_, way) => wordsAt(way * memoryBytes + blockBytes * N))
  try {
    for (let at = 0; at < blocks.length; at += ways * blockBytes) {
      // If the number of blocks is odd, the last one is alone, and the other memory is mixed again without use.
      const places = Array.from({ length: ways }, (_, way) => at + way * blockBytes).filter((n) => n < blocks.length)
      for (const [way, place] of places.entries()) {
        bytes.set(blocks.subarray(place, place + blockBytes))
        for (let i = 0; i < words.length; i++) firsts[way]![i] = words[diagonal(i)]!
      }
      mixer.mix(N, r)
      for (const [way, place] of places.entries()) {
        for (let i = 0; i < words.length; i++) words[diagonal(i)] = lasts[way]![i]!
        blocks.set(bytes, place)
      }
    }
  } finally {
    wipe(bytes, memory)
  }
}

/** Position of a word in Salsa20's four-by-four matrix. Vectors hold its diagonals, so that lanes do not mix. */
const diagonal = (i: number): number => (i & ~15) | ((4 * ((i >> 2) & 3) + 5 * (i & 3)) & 15)

interface Mixer {
  readonly memory: { readonly buffer: ArrayBuffer }
  /** Mixes the block at the start of each memory. The result follows the N blocks that begin there. */
  mix(N: number, r: number): void
}

const modules = new Map<string, () => Mixer>()

/** Cached for each cost in use; there are two. */
function moduleFor(ways: number, wayBytes: number): () => Mixer {
  const name = `${ways} of ${wayBytes}`
  const known = modules.get(name)
  if (known !== undefined) return known
  const module = emit(ways, wayBytes).compile() as unknown as () => Mixer
  modules.set(name, module)
  return module
}

/**
 * Interleaves `ways` computations, each with its own block and memory: each instruction of Salsa20 waits for the previous one,
 * but instructions for another block need not.
 */
function emit(ways: number, wayBytes: number): WasmModule {
  const module = new WasmModule(Math.ceil((ways * wayBytes) / PAGE_BYTES))
  const perWay = <T>(make: (way: number) => T): T[] => Array.from({ length: ways }, (_, way) => make(way))
  /** Interleaves the code of all ways, instruction by instruction. */
  const runQueued = (codeOf: (way: number) => Code[]): Code[] => {
    const codes = perWay(codeOf)
    return codes[0]!.flatMap((_, i) => codes.map((code) => code[i]!))
  }

  // scryptBlockMix of the block at `from`, or of its xor with another block. Addresses are the same in each memory, except for the
  // block of the xor.
  const define = (name: string, isMasked: boolean) => {
    const parameters = ['i32', 'i32', 'i32', ...(isMasked ? perWay(() => 'i32' as const) : [])] as const
    return module.define(name, parameters, [], ([from, to, halfBytes, ...masks], local) => {
      const state = perWay(() => Array.from({ length: 4 }, () => local('v128')) as Four)
      const start = perWay(() => Array.from({ length: 4 }, () => local('v128')))
      const sums = perWay(() => local('v128'))
      const [end, ahead] = [local('i32'), local('i32')]
      const load = (way: number, k: number, further: Code | null = null): Code => {
        const at = (place: Local) => (further === null ? place : i32.add(place, further))
        const offset = way * wayBytes + VECTOR_BYTES * k
        const vector = v128.load(at(from!), offset)
        return isMasked ? v128.xor(vector, v128.load(at(masks[way]!), offset)) : vector
      }
      const salsa = (half: number, place: Code | Local): Code[] =>
        runQueued((way) => {
          const x = state[way]!
          return [
            ...x.map((vector, k) => vector.set(v128.xor(vector, load(way, 4 * half + k)))),
            ...x.map((vector, k) => start[way]![k]!.set(vector)),
            ...Array.from({ length: SALSA_DOUBLE_ROUNDS }, () => doubleRound(x, sums[way]!)).flat(),
            ...x.map((vector, k) => vector.set(i32x4.add(vector, start[way]![k]!))),
            ...x.map((vector, k) => v128.store(place, vector, way * wayBytes + VECTOR_BYTES * k)),
          ]
        })
      return [
        ahead.set(i32.sub(i32.mul(halfBytes!, 2), SALSA_BYTES)),
        ...runQueued((way) => state[way]!.map((vector, k) => vector.set(load(way, k, ahead.get)))),
        end.set(i32.add(to!, halfBytes!)),
        repeatWhile(
          [
            ...salsa(0, to!),
            ...salsa(1, i32.add(to!, halfBytes!)),
            from!.set(i32.add(from!, 2 * SALSA_BYTES)),
            ...masks.map((mask) => mask.set(i32.add(mask, 2 * SALSA_BYTES))),
            to!.set(i32.add(to!, SALSA_BYTES)),
          ],
          i32.ne(to!, end),
        ),
      ]
    })
  }
  const mixBlock = define('mixBlock', false)
  const mixMasked = define('mixMasked', true)

  module.define('mix', ['i32', 'i32'], [], ([N, r], local) => {
    const [at, end, halfBytes, blockBytes, turns] = ['i32', 'i32', 'i32', 'i32', 'i32'].map(() => local('i32')) as Five
    const chosen = (place: Code): Code[] =>
      perWay((way) => {
        const word = i32.load(i32.add(place, i32.sub(blockBytes, SALSA_BYTES)), way * wayBytes)
        return i32.mul(i32.and(word, i32.sub(N!, 1)), blockBytes)
      })
    const next = i32.add(end, blockBytes)
    return [
      halfBytes.set(i32.mul(r!, SALSA_BYTES)),
      blockBytes.set(i32.mul(halfBytes, 2)),
      end.set(i32.mul(N!, blockBytes)),
      repeatWhile([mixBlock(at, i32.add(at, blockBytes), halfBytes), at.set(i32.add(at, blockBytes))], i32.ne(at, end)),
      turns.set(i32.shrU(N!, 1)),
      repeatWhile(
        [mixMasked(end, next, halfBytes, ...chosen(end.get)), mixMasked(next, end, halfBytes, ...chosen(next))],
        turns.tee(i32.sub(turns, 1)),
      ),
    ]
  })
  return module
}

type Four = [Local, Local, Local, Local]
type Five = [Local, Local, Local, Local, Local]

/** Salsa20's double round: columns, then rows. */
function doubleRound([a, b, c, d]: Four, sum: Local): Code[] {
  const step = (target: Local, one: Local, other: Local, bits: number): Code[] => [
    sum.set(i32x4.add(one, other)),
    target.set(v128.xor(v128.xor(target, i32x4.shl(sum, bits)), i32x4.shrU(sum, 32 - bits))),
  ]
  const quarter = (one: Local, two: Local, three: Local): Code[] => [
    ...step(one, a, three, 7),
    ...step(two, one, a, 9),
    ...step(three, two, one, 13),
    ...step(a, three, two, 18),
  ]
  const turn = (vector: Local, lanes: number): Code => vector.set(i8x16.shuffle(vector, turned(lanes)))
  return [
    ...quarter(b, c, d),
    ...[turn(b, 3), turn(c, 2), turn(d, 1)],
    ...quarter(d, c, b),
    ...[turn(b, 1), turn(c, 2), turn(d, 3)],
  ]
}

const turned = (lanes: number): number[] => Array.from({ length: 16 }, (_, i) => (i + 4 * lanes) % 16)
