/**
 * Multiples of a fixed point. Each lane processes half of a scalar's windows; each window adds a point from its part of a table.
 * The point formulas are in weierstrass-code.ts and edwards-code.ts.
 */

import { type Callee, type Code, i8x16, i32, i64x2, type Local, memoryCopy, repeatWhile, v128 } from '../wasm.ts'
import type { Extension, FieldCode, Layout } from './field-code.ts'
import { defineInverse, inverseLimbs } from './inverse-code.ts'
import { LIMB_BYTES } from './machine.ts'
import { range } from './montgomery.ts'

/** Scalars are read in windows of five bits, recoded to odd digits from -31 to 31. The table has the odd multiples up to 31. */
export const DIGIT_BITS = 5
export const DIGIT_ENTRIES = 2 ** (DIGIT_BITS - 1)

export const windowsFor = (bits: number): number => Math.ceil((bits + 1) / DIGIT_BITS / 2)

/** Limbs of a window's choice: a table entry, and the sign bit of a double if the entry must be negated. */
export const CHOICE_LIMBS = 2

/** Formulas for adding points. Their numbers have names; those of the second point end in 2. */
export interface Formulas<Name extends string = string> {
  point: readonly Name[]
  /** Coordinates of table entries, which are the second point. */
  entry: readonly Name[]
  /** Coordinates of an entry that negation changes. */
  signed: readonly Name[]
  /** Other numbers in the formulas: temporaries, and constants of the curve. */
  others: readonly Name[]
  first: (code: PointCode<Name>) => Code[]
  addEntry: (code: PointCode<Name>) => Code[]
  /** Converts a sum of entries for `addPoint`, with affine coordinates X / Z and Y / Z. */
  last: (code: PointCode<Name>) => Code[]
  /** Holds for every pair of points. */
  addPoint: (code: PointCode<Name>) => Code[]
  /** Converts the result of `addPoint` to an entry; t0 is 1 / Z. */
  toEntry: (code: PointCode<Name>) => Code[]
  /** Sets t0 to a value that is zero if and only if the affine coordinates X2, Y2 are those of a point of the curve. */
  defect: (code: PointCode<Name>) => Code[]
}

/** `B` is a constant of the addition formulas. `C` and `D` are constants of the curve's equation, in its own coordinates. */
const CURVE_CONSTANTS = ['B', 'C', 'D'] as const
type Constant = (typeof CURVE_CONSTANTS)[number] | 'one'

type Operation<Name extends string> = (to: Name, left: Name | Constant, right: Name | Constant) => Code

export type PointCode<Name extends string> = Record<'mul' | 'add' | 'sub', Operation<Name>> & {
  copy: (to: Name, from: Name | 'one') => Code
}

export interface PointLayout {
  at: Readonly<Record<string, number>>
  choices: number
  inverse: number
  /** Two points, used while the table is computed. */
  swap: number
  unit: number
  outX: number
  outY: number
  /** Copies of the state at position 0 for the two phases: adding points, and computing with scalars. */
  forPoints: number
  forScalars: number
  /** One limb each: makes the checksum of the constants, or of the table, zero. */
  constantsBalance: number
  tableBalance: number
  /** Checksum of the table entries read, one limb. */
  tableSum: number
  table: number
  windowLimbs: number
}

/** The constants of the curve, the number 1, and factors for affine coordinates when they leave this memory. */
const CONSTANTS = CURVE_CONSTANTS.length + 3
const BALANCES = 2

const namesOf = ({ point, entry, others }: Formulas): string[] => [
  ...new Set([...point, ...point.map((name) => `${name}2`), ...entry, ...others]),
]

export function pointLayout(
  formulas: Formulas,
  windows: number,
  { limbs, slots, stateEnd, moreSecret, morePublic }: Layout,
): PointLayout {
  const names = namesOf(formulas)
  const choices = moreSecret + names.length * limbs
  const inverse = choices + windows * CHOICE_LIMBS
  const swap = inverse + inverseLimbs(limbs)
  const [unit, outX, outY, states] = range(4).map((i) => morePublic + (CURVE_CONSTANTS.length + i) * limbs) as Four
  const balances = states + 2 * stateEnd
  return {
    at: {
      ...Object.fromEntries(names.map((name, i) => [name, moreSecret + i * limbs])),
      ...Object.fromEntries(CURVE_CONSTANTS.map((name, i) => [name, morePublic + i * limbs])),
      one: slots.one,
    },
    choices,
    inverse,
    swap,
    tableSum: swap + 2 * formulas.point.length * limbs,
    unit,
    outX,
    outY,
    forPoints: states,
    forScalars: states + stateEnd,
    constantsBalance: balances,
    tableBalance: balances + 1,
    table: balances + BALANCES,
    windowLimbs: DIGIT_ENTRIES * formulas.entry.length * limbs,
  }
}

type Four = [number, number, number, number]

/** Scalars and coordinates have at most `bits` bits. */
export function pointExtension(formulas: Formulas, limbs: number, bits: number, isChecked: boolean): Extension {
  const windows = windowsFor(bits)
  return {
    secretLimbs:
      namesOf(formulas).length * limbs +
      windows * CHOICE_LIMBS +
      inverseLimbs(limbs) +
      2 * formulas.point.length * limbs +
      1,
    publicLimbs: ({ stateEnd }) =>
      (CONSTANTS + windows * DIGIT_ENTRIES * formulas.entry.length) * limbs + 2 * stateEnd + BALANCES,
    define: (code, layout) => {
      const points = pointLayout(formulas, windows, layout)
      const on = pointCode(code, points)
      code.module.define('addPoint', [], [], () => formulas.addPoint(on))
      code.module.define('defect', [], [], () => formulas.defect(on))
      defineSwap(code, points, formulas)
      defineChecks(code, layout, points)
      defineMultiples(code, points, formulas, windows, isChecked)
      defineEntries(code, points, formulas, defineInverse(code, layout, points.inverse, bits))
    },
  }
}

function pointCode({ multiply, square, add, subtract, limbs }: FieldCode, { at }: PointLayout): PointCode<string> {
  const address = (name: string): number => at[name]! * LIMB_BYTES
  const on =
    (callee: Callee): Operation<string> =>
    (to, left, right) =>
      callee(address(to), address(left), address(right))
  const multiplyOn = on(multiply)
  return {
    mul: (to, left, right) => (left === right ? square(address(to), address(left)) : multiplyOn(to, left, right)),
    add: on(add),
    sub: on(subtract),
    copy: (to, from) => memoryCopy(address(to), address(from), limbs * LIMB_BYTES),
  }
}

/** Defines `swapLanes`: sets the second point to the sum of points with lanes exchanged. */
function defineSwap({ module, limbs }: FieldCode, { at }: PointLayout, { point }: Formulas): void {
  const halves = range(LIMB_BYTES).map((byte) => (byte + LIMB_BYTES / 2) % LIMB_BYTES)
  module.define('swapLanes', [], [], () =>
    point.flatMap((name) =>
      range(limbs).map((k) =>
        v128.store(
          0,
          i8x16.shuffle(v128.load(0, (at[name]! + k) * LIMB_BYTES), halves),
          (at[`${name}2`]! + k) * LIMB_BYTES,
        ),
      ),
    ),
  )
}

/**
 * Defines `constantsDefect` and `tableDefect`: checksums of the memory that persists between uses, without the table, and of the
 * table entries that `multiples` has read. The sum of integers in each lane is zero unless a bit has changed. It is written to
 * `tableSum`, and the functions return 1 if it is not zero.
 */
function defineChecks({ module }: FieldCode, layout: Layout, points: PointLayout): void {
  const at = points.tableSum * LIMB_BYTES
  const isDefective = v128.anyTrue(v128.load(0, at))
  const ranges = [
    [layout.morePublic, points.tableBalance],
    [layout.square, layout.end],
  ] as const
  module.define('constantsDefect', [], ['i32'], (_, local) => {
    const [sum, from] = [local('v128'), local('i32')]
    const addAll = ([first, end]: readonly [number, number]): Code[] => [
      from.set(i32.add(first * LIMB_BYTES, 0)),
      repeatWhile(
        [sum.set(i64x2.add(sum, v128.load(from))), from.set(i32.add(from, LIMB_BYTES))],
        i32.ltU(from, end * LIMB_BYTES),
      ),
    ]
    return [...ranges.flatMap(addAll), v128.store(0, sum, at), isDefective]
  })
  module.define('tableDefect', [], ['i32'], () => [
    v128.store(0, i64x2.add(v128.load(0, at), v128.load(0, points.tableBalance * LIMB_BYTES)), at),
    isDefective,
  ])
}

/** Defines `makeEntry(to)`, which writes the table entry of the sum of points. */
function defineEntries(code: FieldCode, points: PointLayout, formulas: Formulas, inverse: Callee): void {
  const bytes = code.limbs * LIMB_BYTES
  const address = (name: string): number => points.at[name]! * LIMB_BYTES
  code.module.define('makeEntry', ['i32'], [], ([to]) => [
    inverse(address('t0'), address('Z')),
    ...formulas.toEntry(pointCode(code, points)),
    ...formulas.entry.map((name, i) => memoryCopy(i32.add(to!, i * bytes), address(name), bytes)),
  ])
}

/**
 * Defines `multiples`: the sum of the table entries that the windows choose. It reads all entries of each window and adds them up
 * as integers, so that `tableDefect` detects a changed bit. The entry to add is never the sum so far or its opposite: except for
 * a factor that is invertible modulo n, the sum of windows below i is an odd number below 32^i, and the next entry an odd
 * multiple of 32^i below 32^(i + 1). All of them are far below n.
 */
function defineMultiples(
  code: FieldCode,
  points: PointLayout,
  formulas: Formulas,
  windows: number,
  isChecked: boolean,
): void {
  const { module, limbs } = code
  const { entry: coordinates, signed } = formulas
  const on = pointCode(code, points)
  const addEntry = module.define('addEntry', [], [], () => formulas.addEntry(on))
  const entryLimbs = coordinates.length * limbs
  const tableSum = points.tableSum * LIMB_BYTES
  const choose = module.define('choose', ['i32', 'i32'], [], ([choice, entries], local) => {
    const [digit, index, mask, one] = [local('v128'), local('v128'), local('v128'), local('v128')]
    const chosen = range(limbs).map(() => local('v128'))
    const [value, sum] = [local('v128'), local('v128')]
    const entry = local('i32')
    const body: Code[] = [digit.set(v128.load(choice!)), one.set(v128.constant(1n)), sum.set(v128.load(0, tableSum))]
    const choose = (limb: Local, k: number): Code[] => [
      value.set(v128.load(entry, k * LIMB_BYTES)),
      ...(isChecked ? [sum.set(i64x2.add(sum, value))] : []),
      limb.set(v128.or(limb, v128.and(mask, value))),
    ]
    for (const [part, to] of coordinates.entries()) {
      body.push(
        entry.set(i32.add(entries!, part * limbs * LIMB_BYTES)),
        index.set(v128.constant(0n)),
        ...chosen.map((limb) => limb.set(v128.constant(0n))),
        repeatWhile(
          [
            mask.set(i64x2.eq(index, digit)),
            ...chosen.flatMap(choose),
            index.set(i64x2.add(index, one)),
            entry.set(i32.add(entry, entryLimbs * LIMB_BYTES)),
          ],
          i32.ltU(entry, i32.add(entries!, points.windowLimbs * LIMB_BYTES)),
        ),
      )
      const sign = signed.includes(to) ? v128.load(choice!, LIMB_BYTES) : undefined
      for (const [k, limb] of chosen.entries()) {
        body.push(v128.store(0, sign === undefined ? limb : v128.xor(limb, sign), (points.at[to]! + k) * LIMB_BYTES))
      }
    }
    return [...body, v128.store(0, sum, tableSum)]
  })
  module.define('multiples', [], [], (_, local) => {
    const [choice, entries, remaining] = [local('i32'), local('i32'), local('i32')]
    const advance = [
      choice.set(i32.add(choice, CHOICE_LIMBS * LIMB_BYTES)),
      entries.set(i32.add(entries, points.windowLimbs * LIMB_BYTES)),
    ]
    return [
      v128.store(0, v128.constant(0n), tableSum),
      choice.set(i32.add(points.choices * LIMB_BYTES, 0)),
      entries.set(i32.add(points.table * LIMB_BYTES, 0)),
      choose(choice, entries),
      ...formulas.first(on),
      remaining.set(i32.add(windows - 1, 0)),
      repeatWhile([...advance, choose(choice, entries), addEntry()], remaining.tee(i32.sub(remaining, 1))),
      ...formulas.last(on),
    ]
  })
}
