/**
 * Computes the constants of a modulus, which are as secret as the modulus, in constant time on pieces of limbs as integers.
 * JavaScript would leave them on its heap.
 */

import {
  type Callee,
  type Code,
  f64,
  i32,
  i64,
  type Local,
  memoryFill,
  type Operand,
  repeatWhile,
  type WasmModule,
} from '../wasm.ts'
import type { Layout } from './field-code.ts'
import type { Format } from './format.ts'
import { LIMB_BYTES } from './machine.ts'

const PIECE_BYTES = 8

/**
 * `setModulus(lane)` reads the bytes of an odd modulus, as `enter` does, and writes the modulus, c = -1/modulus mod B^digits
 * (around zero if signed), and (c modulus + 1) / B^digits. `lane` is in bytes.
 */
export function defineModulus(module: WasmModule, layout: Layout, format: Format, enter: Callee): void {
  const { limbs, digits } = layout
  const { radix, half, isSigned, limbMagic } = format
  // the product of two pieces, plus a third and a carry, stays far below 2^64
  const toLimb = isSigned ? 3 : 2
  const bits = Number(radix) / toLimb
  const mask = 2 ** bits - 1
  const [all, low] = [limbs * toLimb, digits * toLimb]
  const n = layout.table * LIMB_BYTES
  const c = n + all * PIECE_BYTES
  const t = c + low * PIECE_BYTES
  const magic = isSigned ? 3 * 2 ** 51 : 2 ** 52
  const last = c + (low - 1) * PIECE_BYTES

  /** Joins pieces, minus the pieces at n under the mask, into limbs. Signed limbs are in -B / 2 .. B / 2 - 1, except the last. */
  const join = module.define('join', ['i32', 'i32', 'i32', 'i64'], [], ([to, from, count, subtracted], local) => {
    const [limb, up] = [local('i64'), local('i64')]
    const taken = local('i32')
    const piece = (k: number) => {
      const value = i64.load(from!, k * PIECE_BYTES)
      return isSigned ? i64.sub(value, i64.and(i64.load(taken, k * PIECE_BYTES), subtracted!)) : value
    }
    const read = (): Code =>
      Array.from({ length: toLimb }, (_, k) => i64.shl(piece(k), k * bits)).reduce(
        (sum, part) => i64.add(sum, part),
        up.get,
      )
    const write = [
      f64.store(to!, f64.sub(f64.reinterpretI64(i64.add(limb, limbMagic)), magic)),
      to!.set(i32.add(to!, LIMB_BYTES)),
      from!.set(i32.add(from!, toLimb * PIECE_BYTES)),
      taken.set(i32.add(taken, toLimb * PIECE_BYTES)),
    ]
    const carry = [up.set(i64.shrS(i64.add(limb, half), radix)), limb.set(i64.sub(limb, i64.shl(up, radix)))]
    return [
      taken.set(i32.add(n, 0)),
      count!.set(i32.sub(count!, 1)),
      repeatWhile([limb.set(read()), ...(isSigned ? carry : []), ...write], count!.tee(i32.sub(count!, 1))),
      limb.set(read()),
      ...write,
    ]
  })

  module.define('setModulus', ['i32'], [], ([lane], local) => {
    const [bit, at, row, remaining] = [local('i32'), local('i32'), local('i32'), local('i32')]
    const [inverse, q, sum, carry] = [local('i64'), local('i64'), local('i64'), local('i64')]
    const bytes = layout.bytes * LIMB_BYTES
    const word = i64.load(i32.add(i32.shrU(bit, 3), bytes))
    const place = (limb: number) => i32.add(lane!, limb * LIMB_BYTES)
    const advance = (pointer: Local) => pointer.set(i32.add(pointer, PIECE_BYTES))
    const addRow = [
      q.set(i64.and(i64.mul(i64.load(row), inverse), mask)),
      i64.store(i32.add(row, c - t), q),
      carry.set(0),
      at.set(i32.add(n, 0)),
      bit.set(row.get), // the column of this piece
      repeatWhile(
        [
          sum.set(i64.add(i64.add(i64.load(bit), carry), i64.mul(q, i64.load(at)))),
          i64.store(bit, i64.and(sum, mask)),
          carry.set(i64.shrU(sum, bits)),
          advance(bit),
          advance(at),
        ],
        i32.ltU(at, n + all * PIECE_BYTES),
      ),
      i64.store(bit, carry),
      advance(row),
    ]
    const negative: Operand = isSigned ? i64.sub(0, i64.shrU(i64.load(last), bits - 1)) : 0
    return [
      enter(place(layout.modulus), bytes, limbs),
      at.set(i32.add(n, 0)),
      repeatWhile(
        [
          i64.store(at, i64.and(i64.shrU(word, i64.extendI32U(i32.and(bit, 7))), mask)),
          bit.set(i32.add(bit, bits)),
          advance(at),
        ],
        i32.ltU(at, n + all * PIECE_BYTES),
      ),
      // Newton: x = 1/n mod 2^k gives x (2 - n x) = 1/n mod 2^2k; the initial x = n has three correct bits
      inverse.set(i64.load(n)),
      ...Array.from({ length: 4 }, () => inverse.set(i64.mul(inverse, i64.sub(2, i64.mul(inverse, i64.load(n)))))),
      inverse.set(i64.sub(0, inverse)),
      memoryFill(t, 0, (all + low + 1) * PIECE_BYTES),
      i64.store(t, 1),
      row.set(i32.add(t, 0)),
      remaining.set(i32.add(low, 0)),
      repeatWhile(addRow, remaining.tee(i32.sub(remaining, 1))),
      sum.set(negative),
      join(place(layout.scaled), t + low * PIECE_BYTES, limbs, sum),
      ...(isSigned ? [i64.store(last, i64.sub(i64.load(last), i64.and(sum, 2 ** bits)))] : []),
      join(place(layout.inverse), c, digits, 0),
    ]
  })
}
