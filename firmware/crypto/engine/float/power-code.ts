/** Powers with secret exponents. Each window of the exponent reads the complete table. */

import { type Callee, type Code, f64x2, i32, i64x2, type Local, repeatWhile, v128, type WasmModule } from '../wasm.ts'
import type { Layout } from './field-code.ts'
import { BITS_2_52, doubleBits, LIMB_BYTES } from './machine.ts'
import { range } from './montgomery.ts'

/** Exponents are read in windows of five bits. For each window, all 32 powers are read. */
export const WINDOW_BITS = 5
export const WINDOW_ENTRIES = 2 ** WINDOW_BITS
/** Limbs of a table entry that are selected together: limited by the registers for accumulators. */
const SELECT_LIMBS = 10

interface PowerCode {
  module: WasmModule
  layout: Layout
  square: Callee
}

/** Defines `power(to, window, count)`. The table has the powers of the base; `count` windows of the exponent begin at `window`. */
export function definePower({ module, layout, square, multiply }: PowerCode & { multiply: Callee }): void {
  const select = defineSelect(module, layout)
  const chosen = layout.wide * LIMB_BYTES
  module.define('power', ['i32', 'i32', 'i32'], [], ([to, window, count], local) => {
    const squares = local('i32')
    return [
      select(to!, window!),
      repeatWhile(
        [
          window!.set(i32.add(window!, LIMB_BYTES)),
          squares.set(i32.add(WINDOW_BITS, 0)),
          repeatWhile([square(to!, to!)], squares.tee(i32.sub(squares, 1))),
          select(chosen, window!),
          multiply(to!, to!, chosen),
        ],
        i32.gtU(count!.tee(i32.sub(count!, 1)), 1),
      ),
    ]
  })
}

/** Selects a table entry as the sum of all entries, of which all others are multiplied by 0. */
function defineSelect(module: WasmModule, { limbs, table: tableLimbs }: Layout): Callee {
  const table = tableLimbs * LIMB_BYTES
  return module.define('select', ['i32', 'i32'], [], ([to, window], local) => {
    const [digit, index, isChosen, one] = [local('v128'), local('v128'), local('v128'), local('v128')]
    const entry = local('i32')
    const chosen = range(Math.min(SELECT_LIMBS, limbs)).map(() => local('v128'))
    // digit and index are offset by 2^52, as doubles; `one` is the increment of the index and the factor of the chosen entry
    const origin = v128.constant(BITS_2_52)
    const code: Code[] = [digit.set(v128.or(v128.load(window!), origin)), one.set(v128.constant(doubleBits(1)))]
    for (let first = 0; first < limbs; first += SELECT_LIMBS) {
      const part = chosen.slice(0, Math.min(SELECT_LIMBS, limbs - first))
      const pick = (into: Local, k: number): Code =>
        into.set(f64x2.relaxedMadd(isChosen, v128.load(entry, table + (first + k) * LIMB_BYTES), into))
      code.push(
        entry.set(i32.add(0, 0)),
        index.set(origin),
        ...part.map((into) => into.set(v128.constant(0n))),
        repeatWhile(
          [
            // 1 or 0: multiples of limbs by it are exact, and a fused operation replaces two
            isChosen.set(v128.and(i64x2.eq(index, digit), one)),
            ...part.map(pick),
            index.set(f64x2.add(index, one)),
            entry.set(i32.add(entry, limbs * LIMB_BYTES)),
          ],
          i32.ltU(entry, WINDOW_ENTRIES * limbs * LIMB_BYTES),
        ),
        ...part.map((value, k) => v128.store(to!, value, (first + k) * LIMB_BYTES)),
      )
    }
    return code
  })
}

/** Defines `twoToThe(to, window, count)`, which needs no table: each bit doubles or not. `double` doubles where the mask is set. */
export function definePowerOfTwo({ module, layout, square, double }: PowerCode & { double: Callee }): void {
  const mask = layout.wide * LIMB_BYTES
  module.define('twoToThe', ['i32', 'i32', 'i32'], [], ([to, window, count], local) => {
    const bit = local('i32')
    const isSet = v128.and(i64x2.shrU(v128.load(window!), bit), v128.constant(1n))
    return [
      repeatWhile(
        [
          bit.set(WINDOW_BITS),
          repeatWhile(
            [
              square(to!, to!),
              bit.set(i32.sub(bit, 1)),
              v128.store(0, i64x2.sub(v128.constant(0n), isSet), mask),
              double(to!),
            ],
            bit.get,
          ),
          window!.set(i32.add(window!, LIMB_BYTES)),
        ],
        count!.tee(i32.sub(count!, 1)),
      ),
    ]
  })
}
