/**
 * The part of scrypt that takes the time, scryptROMix, as generated WebAssembly: RFC 7914, sections 3 to 5. It runs at
 * once as fast as it can, where JavaScript would first be interpreted. For secrets: nothing stays in its memory.
 */

import { wipe } from '../../base/secret.ts'
import { type Code, i8x16, i32, i32x4, type Local, repeatWhile, v128, WasmModule } from './wasm.ts'

const SALSA_BYTES = 64
const SALSA_DOUBLE_ROUNDS = 4
const VECTOR_BYTES = 16
const PAGE_BYTES = 65536

/** Mixes each of the blocks of 128 r bytes, in place. N is a power of two and at least 2. */
export function mixBlocks(blocks: Uint8Array, N: number, r: number): void {
  const blockBytes = 2 * SALSA_BYTES * r
  // A memory of its own each time: it is large, and between two derivations nobody is to keep it.
  const mixer = moduleFor(Math.ceil((blockBytes * (N + 2)) / PAGE_BYTES))()
  const memory = new Uint8Array(mixer.memory.buffer)
  const words = new Uint32Array(blockBytes / 4)
  const bytes = new Uint8Array(words.buffer)
  const first = new Uint32Array(mixer.memory.buffer, 0, words.length)
  const last = new Uint32Array(mixer.memory.buffer, blockBytes * N, words.length)
  try {
    for (let at = 0; at < blocks.length; at += blockBytes) {
      bytes.set(blocks.subarray(at, at + blockBytes))
      for (let i = 0; i < words.length; i++) first[i] = words[diagonal(i)]!
      mixer.mix(N, r)
      for (let i = 0; i < words.length; i++) words[diagonal(i)] = last[i]!
      blocks.set(bytes, at)
    }
  } finally {
    wipe(bytes, memory)
  }
}

/** Where a word of ours is in Salsa20's matrix of four by four: our vectors are its diagonals, so that lanes do not mix. */
const diagonal = (i: number): number => (i & ~15) | ((4 * ((i >> 2) & 3) + 5 * (i & 3)) & 15)

interface Mixer {
  readonly memory: { readonly buffer: ArrayBuffer }
  /** The block at 0; the result is at the end of the N blocks that begin there. */
  mix(N: number, r: number): void
}

const modules = new Map<number, () => Mixer>()

/** There are as many as there are costs in use: two. */
function moduleFor(pages: number): () => Mixer {
  const known = modules.get(pages)
  if (known !== undefined) return known
  const module = emit(pages).compile() as unknown as () => Mixer
  modules.set(pages, module)
  return module
}

function emit(pages: number): WasmModule {
  const module = new WasmModule(pages)

  // scryptBlockMix of the block at `from`, or of that one xor another, to another place
  const define = (name: string, isMasked: boolean) =>
    module.define(name, ['i32', 'i32', 'i32', 'i32'], [], ([from, mask, to, halfBytes], local) => {
      const x = Array.from({ length: 4 }, () => local('v128')) as Four
      const start = Array.from({ length: 4 }, () => local('v128'))
      const [sum, end, ahead] = [local('v128'), local('i32'), local('i32')]
      const load = (k: number, offset: Code | Local = from!, other: Code | Local = mask!): Code => {
        const vector = v128.load(offset, VECTOR_BYTES * k)
        return isMasked ? v128.xor(vector, v128.load(other, VECTOR_BYTES * k)) : vector
      }
      const salsa = (half: number, place: Code | Local): Code[] => [
        ...x.map((vector, k) => vector.set(v128.xor(vector, load(4 * half + k)))),
        ...x.map((vector, k) => start[k]!.set(vector)),
        ...Array.from({ length: SALSA_DOUBLE_ROUNDS }, () => doubleRound(x, sum)).flat(),
        ...x.map((vector, k) => vector.set(i32x4.add(vector, start[k]!))),
        ...x.map((vector, k) => v128.store(place, vector, VECTOR_BYTES * k)),
      ]
      return [
        ahead.set(i32.sub(i32.mul(halfBytes!, 2), SALSA_BYTES)),
        ...x.map((vector, k) => vector.set(load(k, i32.add(from!, ahead), i32.add(mask!, ahead)))),
        end.set(i32.add(to!, halfBytes!)),
        repeatWhile(
          [
            ...salsa(0, to!),
            ...salsa(1, i32.add(to!, halfBytes!)),
            from!.set(i32.add(from!, 2 * SALSA_BYTES)),
            mask!.set(i32.add(mask!, 2 * SALSA_BYTES)),
            to!.set(i32.add(to!, SALSA_BYTES)),
          ],
          i32.ne(to!, end),
        ),
      ]
    })
  const mixBlock = define('mixBlock', false)
  const mixMasked = define('mixMasked', true)

  module.define('mix', ['i32', 'i32'], [], ([N, r], local) => {
    const [at, end, halfBytes, blockBytes, turns] = ['i32', 'i32', 'i32', 'i32', 'i32'].map(() => local('i32')) as Five
    const chosen = (place: Code): Code =>
      i32.mul(i32.and(i32.load(i32.add(place, i32.sub(blockBytes, SALSA_BYTES))), i32.sub(N!, 1)), blockBytes)
    const next = i32.add(end, blockBytes)
    return [
      halfBytes.set(i32.mul(r!, SALSA_BYTES)),
      blockBytes.set(i32.mul(halfBytes, 2)),
      end.set(i32.mul(N!, blockBytes)),
      repeatWhile(
        [mixBlock(at, 0, i32.add(at, blockBytes), halfBytes), at.set(i32.add(at, blockBytes))],
        i32.ne(at, end),
      ),
      turns.set(i32.shrU(N!, 1)),
      repeatWhile(
        [mixMasked(end, chosen(end.get), next, halfBytes), mixMasked(next, chosen(next), end, halfBytes)],
        turns.tee(i32.sub(turns, 1)),
      ),
    ]
  })
  return module
}

type Four = [Local, Local, Local, Local]
type Five = [Local, Local, Local, Local, Local]

/** Columns, then rows. */
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
