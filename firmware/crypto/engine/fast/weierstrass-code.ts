/**
 * Points of y^2 = x^3 + a x + b with a = -3 or a = 0: sums by the complete formulas of Renes, Costello and Batina
 * (EUROCRYPT 2016, algorithms 4, 5, 7 and 8), which hold for every pair of points, equal, opposite or neutral.
 */

import type { Code } from '../wasm.ts'
import type { Formulas, PointCode } from './multiples-code.ts'

const POINT = ['X', 'Y', 'Z'] as const
const ENTRY = ['X2', 'Y2'] as const
const OTHERS = ['Z2', 't0', 't1', 't2', 't3', 't4', 'x', 'y', 'z'] as const

type Name = (typeof POINT | typeof ENTRY | typeof OTHERS)[number]
type On = PointCode<Name>

/** The constant B is b, or 3 b if a is 0. */
export function weierstrass(a: 0 | -3): Formulas<Name> {
  const add = a === 0 ? addWithZero : addWithMinus3
  return {
    point: POINT,
    ones: ['Y'],
    entry: ENTRY,
    signed: ['Y2'],
    others: OTHERS,
    addEntry: (on) => add(on, true),
    addPoint: (on) => add(on, false),
  }
}

/** Algorithms 4 and 5: X, Y, Z plus X2, Y2, Z2, or with Z2 = 1 plus X2, Y2, on a curve with a = -3. */
function addWithMinus3(on: On, isAffine: boolean): Code[] {
  const { mul, add, sub } = on
  return [
    ...products(on, isAffine),
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
function addWithZero(on: On, isAffine: boolean): Code[] {
  const { mul, add, sub } = on
  return [
    ...products(on, isAffine),
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
function products({ mul, add, sub, copy }: On, isAffine: boolean): Code[] {
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
      copy('t2', 'Z'),
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
