/**
 * Inverses and exact quotients of the plain integer arithmetic. Bernstein, Yang, "Fast constant-time gcd computation and
 * modular inversion" (2019).
 */

import { type Callee, type Code, i32, i64, type Local, type Operand, repeatWhile, type WasmModule } from '../wasm.ts'
import { forEach, HEADER_BYTES, LIMB_BITS, LIMB_MASK, limbsEnd, low } from './layout.ts'

/** x^-1 mod 2^27 of an odd x. Newton's iteration doubles the correct bits; x itself has 3. */
export function defineInverse(module: WasmModule): Callee {
  const inverse = module.define('inverse', ['i64'], ['i64'], ([x], local) => {
    const y = local('i64')
    const iteration = y.set(i64.mul(y, i64.sub(2, i64.mul(x!, y))))
    return [y.set(x!), iteration, iteration, iteration, iteration, low(y)]
  })
  module.define('setHeader', ['i32'], [], ([modulus]) => [
    i64.store(i32.sub(modulus!, HEADER_BYTES), low(i64.sub(0, inverse(i64.load32U(modulus!))))),
  ])
  return inverse
}

export function defineDivisionSteps(module: WasmModule): void {
  const parameters = ['i32', 'i32', 'i32', 'i32', 'i32', 'i32', 'i32'] as const
  module.define('divisionSteps', parameters, [], ([f, g, d, e, modulus, rounds, limbs], local) => {
    const words = () => [local('i32'), local('i32'), local('i32'), local('i32')] as const
    const longs = () => [local('i64'), local('i64'), local('i64'), local('i64')] as const
    const [fWord, gWord, delta, count] = words()
    const [odd, swap] = words()
    const matrix = words() // rows (u v) and (q r)
    const wideMatrix = longs()
    const [u, v, q, r] = matrix
    const negatedIf = (mask: Local, value: Local) => i32.sub(i32.xor(value, mask), mask)

    /** One step of the pair (f, g), which depends on the lowest bits. So 27 steps need one limb of each. */
    const step = [
      odd.set(i32.sub(0, i32.and(gWord, 1))),
      swap.set(i32.and(odd, i32.shrS(i32.sub(0, delta), 31))), // g odd and delta > 0
      gWord.set(i32.add(gWord, i32.and(negatedIf(swap, fWord), odd))),
      q.set(i32.add(q, i32.and(negatedIf(swap, u), odd))),
      r.set(i32.add(r, i32.and(negatedIf(swap, v), odd))),
      delta.set(i32.add(negatedIf(swap, delta), 1)),
      fWord.set(i32.add(fWord, i32.and(gWord, swap))),
      u.set(i32.shl(i32.add(u, i32.and(q, swap)), 1)),
      v.set(i32.shl(i32.add(v, i32.and(r, swap)), 1)),
      gWord.set(i32.shrU(gWord, 1)),
      count.set(i32.sub(count, 1)),
    ]

    const [xp, yp, mp, end] = words()
    const [x, y, xSum, ySum] = longs()
    const [xTimes, yTimes, inverse] = longs()
    const [wu, wv, wq, wr] = wideMatrix
    const combine = (a: Local, b: Local) => i64.add(i64.mul(a, x), i64.mul(b, y))
    const signOfLast = (start: Local) => i64.shrS(i64.load32S(i32.sub(limbsEnd(start, limbs!), 4)), 63)

    /** (x, y) = (matrix * (x, y) + m * (xTimes, yTimes)) / 2^27; the division has no remainder. */
    const apply = (xStart: Local, yStart: Local) => [
      xp.set(xStart),
      yp.set(yStart),
      mp.set(modulus!),
      end.set(limbsEnd(xStart, limbs!)),
      xSum.set(0),
      ySum.set(0),
      forEach(
        [xp, yp, mp],
        end,
        [4, 4, 4],
        [
          x.set(i64.load32S(xp)),
          y.set(i64.load32S(yp)),
          xSum.set(i64.add(xSum, i64.add(combine(wu, wv), i64.mul(xTimes, i64.load32U(mp))))),
          ySum.set(i64.add(ySum, i64.add(combine(wq, wr), i64.mul(yTimes, i64.load32U(mp))))),
          // The first limb is zero and is written below the number, to the unused part of the header.
          i64.store32(i32.sub(xp, 4), low(xSum)),
          i64.store32(i32.sub(yp, 4), low(ySum)),
          xSum.set(i64.shrS(xSum, LIMB_BITS)),
          ySum.set(i64.shrS(ySum, LIMB_BITS)),
        ],
      ),
      i64.store32(i32.sub(xp, 4), xSum),
      i64.store32(i32.sub(yp, 4), ySum),
    ]

    /** Subtracts 0 .. 2^27 - 1 from `times` so that sum + times * m is a multiple of 2^27. */
    const makeExact = (times: Local, sum: Code) => times.set(i64.sub(times, low(i64.sub(times, i64.mul(sum, inverse)))))

    return [
      inverse.set(i64.load(i32.sub(modulus!, HEADER_BYTES))),
      delta.set(1),
      repeatWhile(
        [
          fWord.set(i32.load(f!)),
          gWord.set(i32.load(g!)),
          u.set(1),
          v.set(0),
          q.set(0),
          r.set(1),
          count.set(LIMB_BITS),
          repeatWhile(step, i32.ne(count, 0)),
          ...matrix.map((entry, i) => wideMatrix[i]!.set(i64.extendI32S(entry))),
          xTimes.set(0),
          yTimes.set(0),
          ...apply(f!, g!),
          // Values start between -2m and m. Adding m to negative ones, and subtracting it less than 2^27 times, preserves that.
          xTimes.set(i64.add(i64.and(wu, signOfLast(d!)), i64.and(wv, signOfLast(e!)))),
          yTimes.set(i64.add(i64.and(wq, signOfLast(d!)), i64.and(wr, signOfLast(e!)))),
          x.set(i64.load32S(d!)),
          y.set(i64.load32S(e!)),
          makeExact(xTimes, combine(wu, wv)),
          makeExact(yTimes, combine(wq, wr)),
          ...apply(d!, e!),
          rounds!.set(i32.sub(rounds!, 1)),
        ],
        i32.ne(rounds!, 0),
      ),
    ]
  })
  defineSettleInverse(module)
}

function defineSettleInverse(module: WasmModule): void {
  /** x = +-(x + (m & add)), negated if `negate` is all ones. Both are masks. */
  const adjust = module.define(
    'adjust',
    ['i32', 'i32', 'i32', 'i32', 'i32'],
    [],
    ([x, add, negate, m, limbs], local) => {
      const [sum, end] = [local('i32'), local('i32')]
      const limb = i32.add(i32.load(x!), i32.and(i32.load(m!), add!))
      return [
        end.set(limbsEnd(x!, limbs!)),
        forEach(
          [x!, m!],
          end,
          [4, 4],
          [
            sum.set(i32.add(sum, i32.sub(i32.xor(limb, negate!), negate!))),
            i32.store(x!, i32.and(sum, LIMB_MASK)),
            sum.set(i32.shrS(sum, LIMB_BITS)),
          ],
        ),
        end.set(i32.sub(x!, 4)),
        i32.store(end, i32.or(i32.load(end), i32.shl(sum, LIMB_BITS))),
      ]
    },
  )

  module.define('settleInverse', ['i32', 'i32', 'i32', 'i32'], [], ([d, f, modulus, limbs]) => {
    const sign = (start: Operand) => i32.shrS(i32.load(i32.sub(limbsEnd(start, limbs!), 4)), 31)
    return [
      adjust(d!, sign(d!), sign(f!), modulus!, limbs!),
      adjust(d!, sign(d!), 0, modulus!, limbs!),
      adjust(f!, 0, sign(f!), modulus!, limbs!),
    ]
  })
}

export function defineDivideExact(module: WasmModule, inverse: Callee): void {
  module.define('divideExact', ['i32', 'i32', 'i32', 'i32'], [], ([to, a, b, limbs], local) => {
    const [ap, bp, end] = [local('i32'), local('i32'), local('i32')]
    const [bInverse, digit, sum] = [local('i64'), local('i64'), local('i64')]
    return [
      bInverse.set(inverse(i64.load32U(b!))),
      end.set(limbsEnd(a!, limbs!)),
      forEach(
        [a!, to!],
        end,
        [4, 4],
        [
          digit.set(low(i64.mul(i64.load32U(a!), bInverse))),
          i64.store32(to!, digit),
          ap.set(a!),
          bp.set(b!),
          sum.set(0),
          forEach(
            [ap, bp],
            end,
            [4, 4],
            [
              sum.set(i64.add(sum, i64.sub(i64.load32U(ap), i64.mul(digit, i64.load32U(bp))))),
              i64.store32(ap, low(sum)),
              sum.set(i64.shrS(sum, LIMB_BITS)),
            ],
          ),
        ],
      ),
    ]
  })
}
