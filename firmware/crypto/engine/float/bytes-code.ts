/** Converts little-endian bytes to limbs of one lane and back, in constant time. */

import { type Callee, f64, i32, i64, memoryFill, repeatWhile, type WasmModule } from '../wasm.ts'
import type { Format } from './format.ts'
import { LIMB_BYTES } from './machine.ts'

/**
 * Room for the bytes of a number of twice as many limbs, in limbs of 16 bytes. Bytes are read and written eight at a time, so
 * some accesses go beyond the limbs.
 */
export const byteLimbs = (limbs: number): number => limbs + 1

/**
 * `enter(to, from, limbs)` writes limbs from -B / 2 to B / 2 - 1 if signed (the last one excepted), else non-negative limbs.
 * `leave(to, from, limbs)` takes a canonical number or non-negative limbs. `copyLane(to, from, limbs)` copies limbs unchanged.
 * Addresses of limbs are those of the lane. Returns `enter`.
 */
export function defineBytes(module: WasmModule, { radix, mask, half, isSigned, limbMagic }: Format): Callee {
  const magic = isSigned ? 3 * 2 ** 51 : 2 ** 52
  const enter = module.define('enter', ['i32', 'i32', 'i32'], [], ([to, from, limbs], local) => {
    const bit = local('i32')
    const [sum, up] = [local('i64'), local('i64')]
    const word = i64.load(i32.add(from!, i32.shrU(bit, 3)))
    const digit = i64.and(i64.shrU(word, i64.extendI32U(i32.and(bit, 7))), mask)
    return [
      repeatWhile(
        [
          sum.set(i64.add(digit, up)),
          up.set(i64.shrU(i64.add(sum, half), radix)),
          sum.set(i64.sub(sum, i64.shl(up, radix))),
          f64.store(to!, f64.sub(f64.reinterpretI64(i64.add(sum, limbMagic)), magic)),
          to!.set(i32.add(to!, LIMB_BYTES)),
          bit.set(i32.add(bit, Number(radix))),
        ],
        limbs!.tee(i32.sub(limbs!, 1)),
      ),
    ]
  })
  module.define('leave', ['i32', 'i32', 'i32'], [], ([to, from, limbs], local) => {
    const bit = local('i32')
    const at = local('i32')
    const sum = local('i64')
    const integer = i64.sub(i64.reinterpretF64(f64.add(f64.load(from!), magic)), limbMagic)
    const shifted = i64.shl(i64.and(sum, mask), i64.extendI32U(i32.and(bit, 7)))
    return [
      memoryFill(to!, 0, i32.shl(i32.add(limbs!, 1), 3)),
      repeatWhile(
        [
          sum.set(i64.add(sum, integer)),
          at.set(i32.add(to!, i32.shrU(bit, 3))),
          i64.store(at, i64.or(i64.load(at), shifted)),
          sum.set(i64.shrS(sum, radix)),
          from!.set(i32.add(from!, LIMB_BYTES)),
          bit.set(i32.add(bit, Number(radix))),
        ],
        limbs!.tee(i32.sub(limbs!, 1)),
      ),
    ]
  })
  module.define('copyLane', ['i32', 'i32', 'i32'], [], ([to, from, limbs]) => [
    repeatWhile(
      [f64.store(to!, f64.load(from!)), to!.set(i32.add(to!, LIMB_BYTES)), from!.set(i32.add(from!, LIMB_BYTES))],
      limbs!.tee(i32.sub(limbs!, 1)),
    ),
  ])
  return enter
}
