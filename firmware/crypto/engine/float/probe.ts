/**
 * Tests whether relaxed_madd rounds once. WebAssembly leaves this to the implementation, but requires that it stays the same at
 * run time.
 */

import { f64x2, v128, WasmModule } from '../wasm.ts'
import { SIGNED } from './format.ts'
import { doubleBits, LIMB_BYTES, LOW_MAGIC } from './machine.ts'

/** Two factors, an addend, and the result of single rounding. Double rounding changes each result. */
export const FUSED_CASES: readonly (readonly [a: number, b: number, c: number, fused: bigint])[] = [
  [1 + 2 ** -27, 1 + 2 ** -27, -(1 + 2 ** -26), doubleBits(2 ** -54)],
  // (2^50 - 1) (2^51 - 1) is 2^51 (2^50 - 2) plus slightly more than half of 2^51: single rounding rounds up, double rounding down
  [2 ** 50 - 1, 2 ** 51 - 1, 3 * 2 ** 102, SIGNED.highMagic + 2n ** 50n - 1n],
  // (2^50 + 1)^2 is 2^51 (2^49 + 1) + 1
  [2 ** 50 + 1, 2 ** 50 + 1, 3 * 2 ** 51 - (2 ** 49 + 1) * 2 ** 51, LOW_MAGIC + 1n],
]

/** Undefined if it rounds once, else the reason against the fast engine. */
export function whyNotFused(): string | undefined {
  const module = new WasmModule(1)
  module.define('madd', ['i32'], [], ([at]) => {
    const operand = (k: number) => v128.load(at!, k * LIMB_BYTES)
    return [v128.store(at!, f64x2.relaxedMadd(operand(0), operand(1), operand(2)), 3 * LIMB_BYTES)]
  })
  let code: ReturnType<WasmModule['instantiate']>
  try {
    code = module.instantiate()
  } catch {
    return 'this runtime has no relaxed vector instructions'
  }
  const numbers = new Float64Array(code.memory.buffer)
  const bits = new BigUint64Array(code.memory.buffer)
  const isFused = FUSED_CASES.every(([a, b, c, fused]) => {
    for (const [k, value] of [a, b, c].entries()) numbers.fill(value, 2 * k, 2 * k + 2)
    code.madd!(0)
    return bits[6] === fused && bits[7] === fused
  })
  return isFused ? undefined : 'this processor rounds twice in multiply-add'
}
