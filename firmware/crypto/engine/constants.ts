/**
 * Detects changed constants in a module's memory. A flipped bit would produce wrong results that the same module accepts when it
 * checks them.
 */

import { i32, i64x2, repeatWhile, v128, type WasmModule } from './wasm.ts'

const VECTOR_BYTES = 16

/** Vector to append to the constants, so that the sum of all is zero. */
export function balance(constants: Uint8Array): Uint8Array {
  const words = new BigUint64Array(constants.buffer, constants.byteOffset, constants.length / 8)
  const sum = new BigUint64Array(2)
  for (const [i, word] of words.entries()) sum[i % 2]! -= word
  return new Uint8Array(sum.buffer)
}

/** Defines `constantsDefect` for a module whose memory begins with constants and their balance. It returns 0, or 1 if a bit has changed. */
export function defineConstantsDefect(module: WasmModule, end: number): void {
  module.define('constantsDefect', [], ['i32'], (_, local) => {
    const [sum, from] = [local('v128'), local('i32')]
    const add = [sum.set(i64x2.add(sum, v128.load(from))), from.set(i32.add(from, VECTOR_BYTES))]
    return [repeatWhile(add, i32.ltU(from, end)), v128.anyTrue(sum)]
  })
}
