/** The WebAssembly of one field: what lies where in memory, and the functions. */

import {
  type Callee,
  type Code,
  f64x2,
  i32,
  i64x2,
  type Local,
  type NewLocal,
  repeatWhile,
  v128,
  WasmModule,
} from '../wasm.ts'
import { byteLimbs, defineBytes } from './bytes-code.ts'
import { add, canonical, doubleIf, subtract } from './carry.ts'
import { type Address, Emitter, type Products, UnrollingEmitter } from './emitter.ts'
import type { Format } from './format.ts'
import { BITS_2_52, doubleBits, LIMB_BYTES } from './machine.ts'
import { defineModulus } from './modulus-code.ts'
import { multiply, product, ROWS, range, reduceWide, square } from './montgomery.ts'

/** Exponents are read in windows of five bits: 32 powers, all of them read for each window. */
export const WINDOW_BITS = 5
export const WINDOW_ENTRIES = 2 ** WINDOW_BITS
/** Limbs of a table entry that are selected together: as many accumulators as there are registers to spare. */
const SELECT_LIMBS = 10

/** Of any format: there is room for the windows of every exponent. */
const LIMB_BITS_MAX = 52

/** Straight code is faster as long as the processor's cache of decoded instructions, some 2000, can hold it. */
const UNROLLED_LIMBS_MAX = 8
const UNROLLED_DIGITS = 2

/** Functions and memory beyond the field's own, for points. */
export interface Extension {
  secretLimbs: number
  publicLimbs(layout: { stateEnd: number }): number
  define(code: FieldCode, layout: Layout): void
}

/** The functions by which others are made; operands are addresses. */
export interface FieldCode {
  module: WasmModule
  limbs: number
  /** For functions written against the machine. */
  emitter: (local: NewLocal) => Emitter
  square: Callee
  multiply: Callee
  add: Callee
  subtract: Callee
}

const NOTHING_MORE: Extension = { secretLimbs: 0, publicLimbs: () => 0, define: () => undefined }

export type Layout = ReturnType<typeof layOut>

/** Positions in limbs. */
export function layOut(limbs: number, more: Extension = NOTHING_MORE) {
  const digits = limbs <= UNROLLED_LIMBS_MAX ? UNROLLED_DIGITS : ROWS
  let end = 0
  const take = (count: number): number => {
    end += count
    return end - count
  }
  const one = take(limbs)
  const square = take(limbs)
  // What a multiplication reads and writes comes close together: a load that has the last twelve bits of its address in
  // common with an earlier store waits for it, which can cost a tenth of the speed.
  const modulus = take(limbs)
  const scaled = take(limbs)
  const inverse = take(digits)
  const stateEnd = end
  const columns = take(2 * limbs)
  const wide = take(2 * limbs)
  const slots = { one, square, a: take(limbs), b: take(limbs), c: take(limbs), d: take(limbs) }
  const table = take(WINDOW_ENTRIES * limbs)
  const windowsMax = Math.ceil((limbs * LIMB_BITS_MAX) / WINDOW_BITS) + 1
  const windows = take(windowsMax)
  const bytes = take(byteLimbs(limbs))
  const moreSecret = take(more.secretLimbs)
  const secretEnd = end
  const morePublic = take(more.publicLimbs({ stateEnd }))
  const biases = { square: take(2 * limbs), multiply: take(2 * limbs), product: take(2 * limbs), none: take(2 * limbs) }
  return {
    limbs,
    digits,
    slots,
    modulus,
    scaled,
    inverse,
    stateEnd,
    columns,
    wide,
    table,
    windows,
    windowsMax,
    bytes,
    moreSecret,
    secretEnd,
    morePublic,
    ...biases,
    end,
  }
}

const PAGE_BYTES = 65_536

export function emitField(
  layout: Layout,
  format: Format,
  products: Products,
  more: Extension = NOTHING_MORE,
): WasmModule {
  const { limbs } = layout
  const module = new WasmModule(Math.ceil((layout.end * LIMB_BYTES) / PAGE_BYTES))
  const fixed = (limb: number): Address => ({ base: 0, bytes: limb * LIMB_BYTES })
  const n = {
    limbs,
    digits: layout.digits,
    modulus: fixed(layout.modulus),
    scaled: fixed(layout.scaled),
    inverse: fixed(layout.inverse),
    columns: fixed(layout.columns),
    squareBiases: fixed(layout.square),
    multiplyBiases: fixed(layout.multiply),
    productBiases: fixed(layout.product),
    wideBiases: fixed(layout.none),
  }
  const emitter = (local: NewLocal): Emitter =>
    limbs <= UNROLLED_LIMBS_MAX
      ? new UnrollingEmitter(local, format, products, layout.columns, 2 * limbs)
      : new Emitter(local, format, products)
  const define = (name: string, parameters: number, generate: (m: Emitter, addresses: Address[]) => void) =>
    module.define(name, new Array<'i32'>(parameters).fill('i32'), [], (locals, local) => {
      const m = emitter(local)
      generate(
        m,
        locals.map((base) => ({ base, bytes: 0 })),
      )
      return m.code
    })
  const squareCode = define('square', 2, (m, [to, a]) => square(m, n, to!, a!))
  const multiplyCode = define('multiply', 3, (m, [to, a, b]) => multiply(m, n, to!, a!, b!))
  const addCode = define('add', 3, (m, [to, a, b]) => add(m, limbs, to!, a!, b!))
  const subtractCode = define('subtract', 3, (m, [to, a, b]) => subtract(m, limbs, to!, a!, b!, n.modulus))
  define('canonical', 2, (m, [to, a]) => canonical(m, limbs, to!, a!, n.modulus))
  define('product', 3, (m, [a, b, plus]) => product(m, n, fixed(layout.wide), a!, b!, plus!))
  define('reduceWide', 1, (m, [to]) => reduceWide(m, n, to!, fixed(layout.wide)))
  defineModulus(module, layout, format, defineBytes(module, format))
  const table = layout.table * LIMB_BYTES
  const choice = layout.wide * LIMB_BYTES
  const select = module.define('select', ['i32', 'i32'], [], ([to, window], local) => {
    const [digit, index, isChosen, one] = [local('v128'), local('v128'), local('v128'), local('v128')]
    const entry = local('i32')
    const chosen = range(Math.min(SELECT_LIMBS, limbs)).map(() => local('v128'))
    // digit and index are on 2^52, as doubles: `one` is what index counts by, and what an entry is multiplied with
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
            // 1 or 0: sums of limbs times that are exact, and one operation instead of two
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
  module.define('power', ['i32', 'i32', 'i32'], [], ([to, window, count], local) => {
    const squares = local('i32')
    return [
      select(to!, window!),
      repeatWhile(
        [
          window!.set(i32.add(window!, LIMB_BYTES)),
          squares.set(i32.add(WINDOW_BITS, 0)),
          repeatWhile([squareCode(to!, to!)], squares.tee(i32.sub(squares, 1))),
          select(choice, window!),
          multiplyCode(to!, to!, choice),
        ],
        i32.gtU(count!.tee(i32.sub(count!, 1)), 1),
      ),
    ]
  })
  const doubleCode = define('doubleIf', 1, (m, [a]) => doubleIf(m, limbs, a!, m.load(fixed(layout.wide), 0)))
  module.define('twoToThe', ['i32', 'i32', 'i32'], [], ([to, window, count], local) => {
    const bit = local('i32')
    const isSet = v128.and(i64x2.shrU(v128.load(window!), bit), v128.constant(1n))
    return [
      repeatWhile(
        [
          bit.set(WINDOW_BITS),
          repeatWhile(
            [
              squareCode(to!, to!),
              bit.set(i32.sub(bit, 1)),
              v128.store(0, i64x2.sub(v128.constant(0n), isSet), choice),
              doubleCode(to!),
            ],
            bit.get,
          ),
          window!.set(i32.add(window!, LIMB_BYTES)),
        ],
        count!.tee(i32.sub(count!, 1)),
      ),
    ]
  })
  more.define(
    { module, limbs, emitter, square: squareCode, multiply: multiplyCode, add: addCode, subtract: subtractCode },
    layout,
  )
  return module
}
