/**
 * Memory of a base point that persists between uses: two sets of moduli, constants of the curve, the table of the point's
 * multiples, and checksums that detect changes of these.
 */

import type { Products } from './emitter.ts'
import { Field, limbsFor } from './field.ts'
import { SIGNED } from './format.ts'
import { LIMB_BYTES } from './machine.ts'
import {
  DIGIT_BITS,
  DIGIT_ENTRIES,
  type Formulas,
  type PointLayout,
  pointExtension,
  pointLayout,
  windowsFor,
} from './multiples-code.ts'

export interface BasePointParameters {
  p: bigint
  n: bigint
  formulas: Formulas
  B: bigint
  C: bigint
  D: bigint
  /** Factors for affine coordinates when they leave this memory. */
  out: { x: bigint; y: bigint }
  generator: { x: bigint; y: bigint }
}

/** Spare bits for values of some dozens of p: the point formulas do not reduce sums. */
const FORMULA_SPARE_BITS = 15

export interface BasePointCode {
  addPoint: () => void
  swapLanes: () => void
  defect: () => void
  constantsDefect: () => number
  tableDefect: () => number
  multiples: () => void
  /** Writes a table entry from X, Y, Z. */
  makeEntry: (to: number) => void
  inverse: (to: number, a: number) => void
}

interface BasePointMemory {
  readonly bytes: number
  readonly order: Uint8Array
  readonly field: Field
  readonly points: PointLayout
  readonly formulas: Formulas
  readonly windows: number
  readonly code: BasePointCode
}

export function fillMemory(parameters: BasePointParameters, products: Products, isChecked: boolean): BasePointMemory {
  const { p, n, formulas } = parameters
  const bits = Math.max(p.toString(2).length, n.toString(2).length)
  const limbs = limbsFor(bits + FORMULA_SPARE_BITS, SIGNED)
  const bytes = Math.ceil(bits / 8)
  const windows = windowsFor(bits)
  const field = new Field(limbs, SIGNED, pointExtension(formulas, limbs, bits, isChecked), products)
  const points = pointLayout(formulas, windows, field.layout)
  const code = field.code as unknown as BasePointCode
  const [modulus, order] = [toBytes(p, bytes), toBytes(n, bytes)]
  const memory: BasePointMemory = { bytes, order, field, points, formulas, windows, code }
  field.setModuli([modulus, order])
  field.keepState(points.forScalars)
  field.setModuli([modulus, modulus])
  field.keepState(points.forPoints)
  putConstants(memory, parameters)
  fillTable(memory)
  balance(memory)
  field.wipe()
  return memory
}

function putConstants({ field, points, bytes }: BasePointMemory, parameters: BasePointParameters): void {
  const { p, B, C, D, out, generator } = parameters
  const put = (slot: number, values: readonly [bigint, bigint]): void =>
    field.putBytes(slot, [toBytes(values[0], bytes), toBytes(values[1], bytes)])
  const inner = (value: bigint): bigint => (((value % p) + p) << (SIGNED.radix * BigInt(field.limbs))) % p
  for (const [name, value] of Object.entries({ B, C, D })) put(points.at[name]!, [inner(value), inner(value)])
  put(points.unit, [1n, 1n])
  put(points.outX, [out.x, out.x])
  put(points.outY, [out.y, out.y])
  for (const [name, value] of Object.entries({
    X: generator.x,
    Y: generator.y,
    Z: 1n,
    T: generator.x * generator.y,
  })) {
    const slot = points.at[name]
    if (slot !== undefined) put(slot, [inner(value), inner(value)])
  }
}

/** Lane 0 starts with the point in X, Y, Z, lane 1 with its multiple for the first window of the scalar's second half. */
function fillTable({ field, points, formulas, windows, code }: BasePointMemory): void {
  const { at, table, windowLimbs, swap } = points
  const [sum, second] = [at.X!, at.X2!]
  const size = formulas.point.length * field.limbs
  const copy = (to: number, from: number): void => {
    field.numbers.copyWithin(2 * to, 2 * from, 2 * (from + size))
  }
  const double = (): void => {
    copy(second, sum)
    code.addPoint()
  }
  const first = field.numbers.slice(2 * sum, 2 * (sum + size))
  for (let bit = 0; bit < DIGIT_BITS * windows; bit++) double()
  for (let k = 0; k < first.length; k += 2) field.numbers[2 * sum + k] = first[k]!

  const [base, twice] = [swap, swap + size]
  for (let window = 0; window < windows; window++) {
    copy(base, sum)
    double()
    copy(twice, sum)
    copy(sum, base)
    for (let entry = 0; entry < DIGIT_ENTRIES; entry++) {
      if (entry > 0) {
        copy(second, twice)
        code.addPoint()
      }
      code.makeEntry((table + window * windowLimbs + (entry * windowLimbs) / DIGIT_ENTRIES) * LIMB_BYTES)
    }
    copy(second, base) // 31 and 1
    code.addPoint()
  }
}

/** Makes the checksums of the constants and of the table zero. */
function balance({ field, points, code }: BasePointMemory): void {
  const { tableBalance, constantsBalance, tableSum } = points
  const words = new BigUint64Array(field.numbers.buffer)
  const settle = (balance: number): void => {
    for (const lane of [0, 1]) words[2 * balance + lane] = -words[2 * tableSum + lane]!
  }
  code.multiples()
  settle(tableBalance)
  code.constantsDefect()
  settle(constantsBalance)
}

function toBytes(value: bigint, length: number): Uint8Array {
  return new Uint8Array(Buffer.from(value.toString(16).padStart(2 * length, '0'), 'hex'))
}
