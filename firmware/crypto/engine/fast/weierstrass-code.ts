/**
 * Points of y^2 = x^3 + a x + b with a = -3 or a = 0: sums by the complete formulas of Renes, Costello and Batina
 * (EUROCRYPT 2016, algorithms 4, 5, 7 and 8), which hold for every pair of points, equal, opposite or neutral.
 * The generator's multiples are read from a table: half of a scalar's windows in each lane.
 */

import { type Callee, type Code, i32, i64x2, memoryCopy, repeatWhile, v128 } from '../wasm.ts'
import type { Extension, FieldCode, Layout } from './field-code.ts'
import { LIMB_BYTES } from './machine.ts'
import { range } from './montgomery.ts'

/** Scalars are read in windows of five bits, made into odd digits from -31 to 31: the table has the odd multiples to 31. */
export const DIGIT_BITS = 5
export const DIGIT_ENTRIES = 2 ** (DIGIT_BITS - 1)

/** Windows for one lane. */
export const windowsFor = (bits: number): number => Math.ceil((bits + 1) / DIGIT_BITS / 2)

/** Numbers of the extension's memory: the sum X, Y, Z, the point added to it, and temporaries. */
export const POINT = ['X', 'Y', 'Z', 'X2', 'Y2', 'Z2', 't0', 't1', 't2', 't3', 't4', 'x', 'y', 'z'] as const
export type PointSlot = (typeof POINT)[number] | 'B'

/** What a window chooses: an entry of the table and whether its opposite is meant, as the sign bit of a double. */
export const CHOICE_LIMBS = 2

export interface PointLayout {
  /** B is b, or 3 b if a is 0. */
  at: Record<PointSlot, number>
  choices: number
  table: number
  /** Limbs of the table for one window. */
  windowLimbs: number
}

export function pointLayout({ limbs, moreSecret, morePublic }: Layout): PointLayout {
  const at = Object.fromEntries(POINT.map((name, i) => [name, moreSecret + i * limbs])) as Record<PointSlot, number>
  return {
    at: { ...at, B: morePublic },
    choices: moreSecret + POINT.length * limbs,
    table: morePublic + limbs,
    windowLimbs: DIGIT_ENTRIES * 2 * limbs,
  }
}

export function pointExtension(limbs: number, windows: number, a: 0 | -3): Extension {
  return {
    secretLimbs: POINT.length * limbs + windows * CHOICE_LIMBS,
    publicLimbs: limbs + windows * DIGIT_ENTRIES * 2 * limbs,
    define: (code, layout) => {
      const points = pointLayout(layout)
      const formula = a === 0 ? addWithZero : addWithMinus3
      code.module.define('addPoint', [], [], () => formula(code, points, false))
      const addAffine = code.module.define('addAffine', [], [], () => formula(code, points, true))
      defineMultiples(code, points, windows, addAffine)
    },
  }
}

type Operation = (to: PointSlot, left: PointSlot, right: PointSlot) => Code

function operations(
  { multiply, add, subtract }: FieldCode,
  { at }: PointLayout,
): Record<'mul' | 'add' | 'sub', Operation> {
  const on =
    (callee: Callee): Operation =>
    (to, left, right) =>
      callee(...[to, left, right].map((name) => at[name] * LIMB_BYTES))
  return { mul: on(multiply), add: on(add), sub: on(subtract) }
}

/** Algorithms 4 and 5: X, Y, Z plus X2, Y2, Z2, or with Z2 = 1 plus X2, Y2, on a curve with a = -3. */
function addWithMinus3(code: FieldCode, points: PointLayout, isAffine: boolean): Code[] {
  const { mul, add, sub } = operations(code, points)
  return [
    ...products(code, points, isAffine),
    mul('z', 'B', 't2'),
    sub('x', 'y', 'z'),
    add('z', 'x', 'x'),
    add('x', 'x', 'z'),
    sub('z', 't1', 'x'),
    add('x', 't1', 'x'),
    mul('y', 'B', 'y'),
    add('t1', 't2', 't2'),
    add('t2', 't1', 't2'),
    sub('y', 'y', 't2'),
    sub('y', 'y', 't0'),
    add('t1', 'y', 'y'),
    add('y', 't1', 'y'),
    add('t1', 't0', 't0'),
    add('t0', 't1', 't0'),
    sub('t0', 't0', 't2'),
    mul('t1', 't4', 'y'),
    mul('t2', 't0', 'y'),
    mul('y', 'x', 'z'),
    add('Y', 'y', 't2'),
    mul('x', 't3', 'x'),
    sub('X', 'x', 't1'),
    mul('z', 't4', 'z'),
    mul('t1', 't3', 't0'),
    add('Z', 'z', 't1'),
  ]
}

/** Algorithms 7 and 8: the same on a curve with a = 0; B is 3 b. */
function addWithZero(code: FieldCode, points: PointLayout, isAffine: boolean): Code[] {
  const { mul, add, sub } = operations(code, points)
  return [
    ...products(code, points, isAffine),
    add('x', 't0', 't0'),
    add('t0', 'x', 't0'),
    mul('t2', 'B', 't2'),
    add('z', 't1', 't2'),
    sub('t1', 't1', 't2'),
    mul('y', 'B', 'y'),
    mul('x', 't4', 'y'),
    mul('t2', 't3', 't1'),
    sub('X', 't2', 'x'),
    mul('y', 'y', 't0'),
    mul('t1', 't1', 'z'),
    add('Y', 't1', 'y'),
    mul('t0', 't0', 't3'),
    mul('z', 'z', 't4'),
    add('Z', 'z', 't0'),
  ]
}

/** t0, t1, t2 = X X2, Y Y2, Z Z2 and t3 = X Y2 + X2 Y, t4 = Y Z2 + Y2 Z, y = X Z2 + X2 Z. */
function products(code: FieldCode, points: PointLayout, isAffine: boolean): Code[] {
  const { mul, add, sub } = operations(code, points)
  const start = [
    mul('t0', 'X', 'X2'),
    mul('t1', 'Y', 'Y2'),
    add('t3', 'X', 'Y'),
    add('t4', 'X2', 'Y2'),
    mul('t3', 't3', 't4'),
    add('t4', 't0', 't1'),
    sub('t3', 't3', 't4'),
  ]
  if (isAffine) {
    return [
      ...start,
      memoryCopy(points.at.t2 * LIMB_BYTES, points.at.Z * LIMB_BYTES, code.limbs * LIMB_BYTES),
      mul('t4', 'Y2', 'Z'),
      add('t4', 't4', 'Y'),
      mul('y', 'X2', 'Z'),
      add('y', 'y', 'X'),
    ]
  }
  return [
    ...start,
    mul('t2', 'Z', 'Z2'),
    add('t4', 'Y', 'Z'),
    add('x', 'Y2', 'Z2'),
    mul('t4', 't4', 'x'),
    add('x', 't1', 't2'),
    sub('t4', 't4', 'x'),
    add('x', 'X', 'Z'),
    add('y', 'X2', 'Z2'),
    mul('x', 'x', 'y'),
    add('y', 't0', 't2'),
    sub('y', 'x', 'y'),
  ]
}

/** `multiples`: adds to the sum what each window chooses from the table. All entries of a window are read. */
function defineMultiples({ module, limbs }: FieldCode, points: PointLayout, windows: number, addAffine: Callee): void {
  const choose = module.define('choose', ['i32', 'i32'], [], ([choice, entries], local) => {
    const [digit, index, mask, one] = [local('v128'), local('v128'), local('v128'), local('v128')]
    const chosen = range(limbs).map(() => local('v128'))
    const entry = local('i32')
    const code: Code[] = [digit.set(v128.load(choice!)), one.set(v128.constant(1n))]
    for (const [half, to] of (['X2', 'Y2'] as const).entries()) {
      code.push(
        entry.set(i32.add(entries!, half * limbs * LIMB_BYTES)),
        index.set(v128.constant(0n)),
        ...chosen.map((limb) => limb.set(v128.constant(0n))),
        repeatWhile(
          [
            mask.set(i64x2.eq(index, digit)),
            ...chosen.map((limb, k) => limb.set(v128.or(limb, v128.and(mask, v128.load(entry, k * LIMB_BYTES))))),
            index.set(i64x2.add(index, one)),
            entry.set(i32.add(entry, 2 * limbs * LIMB_BYTES)),
          ],
          i32.ltU(entry, i32.add(entries!, points.windowLimbs * LIMB_BYTES)),
        ),
      )
      const sign = half === 0 ? undefined : v128.load(choice!, LIMB_BYTES)
      for (const [k, limb] of chosen.entries()) {
        code.push(v128.store(0, sign === undefined ? limb : v128.xor(limb, sign), (points.at[to] + k) * LIMB_BYTES))
      }
    }
    return code
  })
  module.define('multiples', [], [], (_, local) => {
    const [choice, entries, remaining] = [local('i32'), local('i32'), local('i32')]
    return [
      choice.set(i32.add(points.choices * LIMB_BYTES, 0)),
      entries.set(i32.add(points.table * LIMB_BYTES, 0)),
      remaining.set(i32.add(windows, 0)),
      repeatWhile(
        [
          choose(choice, entries),
          addAffine(),
          choice.set(i32.add(choice, CHOICE_LIMBS * LIMB_BYTES)),
          entries.set(i32.add(entries, points.windowLimbs * LIMB_BYTES)),
        ],
        remaining.tee(i32.sub(remaining, 1)),
      ),
    ]
  })
}
