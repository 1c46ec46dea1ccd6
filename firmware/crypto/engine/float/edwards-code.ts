/**
 * Point arithmetic on -x^2 + y^2 = 1 + d x^2 y^2 with d not a square, in coordinates X, Y, Z and T = X Y / Z (Hisil, Wong,
 * Carter, Dawson, ASIACRYPT 2008, section 3.1). The formulas hold for every pair of points.
 */

import type { Code } from '../wasm.ts'
import type { Formulas, PointCode } from './multiples-code.ts'

const POINT = ['X', 'Y', 'Z', 'T'] as const
/** Table entries have x, y and 2 d x y of affine points. */
const ENTRY = ['X2', 'Y2', 'T2'] as const
const OTHERS = ['Z2', 't0', 't1', 't2', 't3', 't4', 't5'] as const

type Name = (typeof POINT | typeof ENTRY | typeof OTHERS)[number]

/** Constant B is 2 d, constant D is d. */
export const edwards: Formulas<Name> = {
  point: POINT,
  entry: ENTRY,
  signed: ['X2', 'T2'],
  others: OTHERS,
  first: ({ copy, mul }) => [copy('X', 'X2'), copy('Y', 'Y2'), copy('Z', 'one'), mul('T', 'X2', 'Y2')],
  addEntry: (on) => [on.mul('t2', 'T', 'T2'), on.add('t3', 'Z', 'Z'), ...sum(on)],
  last: () => [],
  addPoint: (on) => [
    on.mul('t2', 'T', 'T2'),
    on.mul('t2', 't2', 'B'),
    on.mul('t3', 'Z', 'Z2'),
    on.add('t3', 't3', 't3'),
    ...sum(on),
  ],
  toEntry: ({ mul }) => [mul('X2', 'X', 't0'), mul('Y2', 'Y', 't0'), mul('T2', 'X2', 'Y2'), mul('T2', 'T2', 'B')],
  defect: ({ mul, add, sub }) => [
    mul('t0', 'X2', 'X2'),
    mul('t1', 'Y2', 'Y2'),
    sub('t2', 't1', 't0'),
    mul('t0', 't0', 't1'),
    mul('t0', 't0', 'D'),
    add('t0', 't0', 'one'),
    sub('t0', 't2', 't0'),
  ],
}

/** Expects t2 = 2 d T T2 and t3 = 2 Z Z2. */
function sum({ mul, add, sub }: PointCode<Name>): Code[] {
  return [
    sub('t0', 'Y', 'X'),
    sub('t4', 'Y2', 'X2'),
    mul('t0', 't0', 't4'),
    add('t1', 'Y', 'X'),
    add('t4', 'Y2', 'X2'),
    mul('t1', 't1', 't4'),
    sub('t4', 't1', 't0'),
    add('t5', 't1', 't0'),
    sub('t0', 't3', 't2'),
    add('t1', 't3', 't2'),
    mul('X', 't4', 't0'),
    mul('Y', 't1', 't5'),
    mul('T', 't4', 't5'),
    mul('Z', 't0', 't1'),
  ]
}
