/** WebAssembly module of one field: memory layout and functions. */

import { type Callee, type NewLocal, WasmModule } from '../wasm.ts'
import { byteLimbs, defineBytes } from './bytes-code.ts'
import { add, canonical, doubleIf, subtract } from './carry.ts'
import { type CodeAddress, Emitter, type Products, UnrollingEmitter } from './emitter.ts'
import type { Format } from './format.ts'
import { LIMB_BYTES } from './machine.ts'
import { defineModulus } from './modulus-code.ts'
import { multiply, product, ROWS, reduceWide, square } from './montgomery.ts'
import { definePower, definePowerOfTwo, WINDOW_BITS, WINDOW_ENTRIES } from './power-code.ts'

/** Upper bound for all formats, which makes room for the windows of every exponent. */
const LIMB_BITS_MAX = 52

/** Unrolled code is faster only while it fits the processor's cache of decoded instructions, some 2000. */
const UNROLLED_LIMBS_MAX = 8
const UNROLLED_DIGITS = 2

export interface Extension {
  secretLimbs: number
  publicLimbs(layout: { stateEnd: number }): number
  define(code: FieldCode, layout: Layout): void
}

/** Functions for building others; operands are addresses. */
export interface FieldCode {
  module: WasmModule
  limbs: number
  emitter: (local: NewLocal) => Emitter
  square: Callee
  multiply: Callee
  add: Callee
  subtract: Callee
}

const NOTHING_MORE: Extension = { secretLimbs: 0, publicLimbs: () => 0, define: () => undefined }

export type Layout = ReturnType<typeof layOut>

/** Positions are in limbs. */
export function layOut(limbs: number, more: Extension = NOTHING_MORE) {
  const digits = limbs <= UNROLLED_LIMBS_MAX ? UNROLLED_DIGITS : ROWS
  let end = 0
  const take = (count: number): number => {
    end += count
    return end - count
  }
  const one = take(limbs)
  const square = take(limbs)
  // Operands of a multiplication are adjacent: a load whose address has the same low 12 bits as an earlier store waits for that
  // store, which can cost a tenth of the speed.
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
  const fixed = (limb: number): CodeAddress => ({ base: 0, bytes: limb * LIMB_BYTES })
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
  const define = (name: string, parameters: number, generate: (m: Emitter, addresses: CodeAddress[]) => void) =>
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
  definePower({ module, layout, square: squareCode, multiply: multiplyCode })
  const doubleCode = define('doubleIf', 1, (m, [a]) => doubleIf(m, limbs, a!, m.load(fixed(layout.wide), 0)))
  definePowerOfTwo({ module, layout, square: squareCode, double: doubleCode })
  more.define(
    { module, limbs, emitter, square: squareCode, multiply: multiplyCode, add: addCode, subtract: subtractCode },
    layout,
  )
  return module
}
