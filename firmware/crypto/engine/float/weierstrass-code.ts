/**
 * Point arithmetic on y^2 = x^3 + a x + b with a = -3 or a = 0. Table entries are added in Jacobian coordinates (x = X / Z^2, y =
 * Y / Z^3; Cohen, Miyaji, Ono, ASIACRYPT 1998). The sums of the two lanes are added with the complete formulas of Renes, Costello
 * and Batina (EUROCRYPT 2016, algorithms 4 and 7; x = X / Z, y = Y / Z), which hold for every pair of points.
 */

import type { Code } from '../wasm.ts'
import type { Formulas, PointCode } from './multiples-code.ts'

const POINT = ['X', 'Y', 'Z'] as const
const ENTRY = ['X2', 'Y2'] as const
const OTHERS = ['Z2', 't0', 't1', 't2', 't3', 't4', 'x', 'y', 'z'] as const

type Name = (typeof POINT | typeof ENTRY | typeof OTHERS)[number]
type On = PointCode<Name>

/** Constant B is b, or 3 b if a is 0. C and D are a and b of the curve's own equation. */
export function weierstrass(a: 0 | -3): Formulas<Name> {
  return {
    point: POINT,
    entry: ENTRY,
    signed: ['Y2'],
    others: OTHERS,
    first: ({ copy }) => [copy('X', 'X2'), copy('Y', 'Y2'), copy('Z', 'one')],
    addEntry,
    last: ({ mul }) => [mul('X', 'X', 'Z'), mul('t0', 'Z', 'Z'), mul('Z', 'Z', 't0')],
    addPoint: a === 0 ? addWithZero : addWithMinus3,
    toEntry: ({ mul }) => [mul('X2', 'X', 't0'), mul('Y2', 'Y', 't0')],
    defect: ({ mul, add, sub }) => [
      mul('t0', 'X2', 'X2'),
      add('t0', 't0', 'C'),
      mul('t0', 't0', 'X2'),
      add('t0', 't0', 'D'),
      mul('t1', 'Y2', 'Y2'),
      sub('t0', 't0', 't1'),
    ],
  }
}

/** Wrong for equal and opposite points, which do not occur within a lane (multiples-code.ts). */
function addEntry({ mul, sub }: On): Code[] {
  return [
    mul('t0', 'Z', 'Z'),
    mul('t1', 't0', 'X2'),
    sub('t1', 't1', 'X'),
    mul('t0', 't0', 'Z'),
    mul('t0', 't0', 'Y2'),
    sub('t0', 't0', 'Y'),
    mul('Z', 'Z', 't1'),
    mul('t2', 't1', 't1'),
    mul('t1', 't1', 't2'),
    mul('t2', 't2', 'X'),
    mul('X', 't0', 't0'),
    sub('X', 'X', 't1'),
    sub('X', 'X', 't2'),
    sub('X', 'X', 't2'),
    mul('t1', 't1', 'Y'),
    sub('t2', 't2', 'X'),
    mul('Y', 't0', 't2'),
    sub('Y', 'Y', 't1'),
  ]
}

/** Algorithm 4: X, Y, Z plus X2, Y2, Z2 for a = -3. */
function addWithMinus3(on: On): Code[] {
  const { mul, add, sub } = on
  return [
    ...products(on),
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

/** Algorithm 7: the same for a = 0; B is 3 b. */
function addWithZero(on: On): Code[] {
  const { mul, add, sub } = on
  return [
    ...products(on),
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
function products({ mul, add, sub }: On): Code[] {
  return [
    mul('t0', 'X', 'X2'),
    mul('t1', 'Y', 'Y2'),
    add('t3', 'X', 'Y'),
    add('t4', 'X2', 'Y2'),
    mul('t3', 't3', 't4'),
    add('t4', 't0', 't1'),
    sub('t3', 't3', 't4'),
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
