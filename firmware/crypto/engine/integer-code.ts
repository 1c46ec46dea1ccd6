/**
 * The code of the plain integer arithmetic: numbers of 27-bit limbs, one to a 32-bit word, least significant first.
 * Montgomery multiplication: Montgomery, "Modular multiplication without trial division" (1985), with the carries left
 * for the end. Inversion: Bernstein, Yang, "Fast constant-time gcd computation and modular inversion" (2019).
 *
 * Every loop runs as often as its public arguments say; every address is computed from them alone.
 */

import {
  type Callee,
  type Code,
  i32,
  i64,
  type Local,
  memoryCopy,
  memoryFill,
  type NewLocal,
  type Operand,
  repeatWhile,
  WasmModule,
} from './wasm.ts'

/**
 * The largest radix whose column sums need no carry: in a product of 304 limbs (8192 bits) a column collects up to
 * 608 products of two limbs, 608 * 2^54 < 2^64.
 */
export const LIMB_BITS = 27
export const LIMBS_MAX = 304

const LIMB_MASK = 2 ** LIMB_BITS - 1

/** Exponents are read in windows of five bits. */
export const WINDOW_BITS = 5
const WINDOW_ENTRIES = 2 ** WINDOW_BITS

/** A number as wide as a product of two, and room for reading past its end; the header below it holds a modulus's inverse. */
export const SLOT_BYTES = 2560
export const HEADER_BYTES = 16

/** The memory: column sums of a product, powers of the base, then the slots. Pages of 64 KiB. */
const COLUMNS = 0
const COLUMNS_BYTES = 8 * 2 * LIMBS_MAX + 256
const TABLE = COLUMNS + COLUMNS_BYTES
const TABLE_BYTES = WINDOW_ENTRIES * 4 * LIMBS_MAX
const SLOTS = TABLE + TABLE_BYTES
const MEMORY_PAGES = 2

/** Where the number of a slot starts. */
export const slot = (index: number): number => SLOTS + index * SLOT_BYTES + HEADER_BYTES
export const SLOTS_MAX = Math.floor((MEMORY_PAGES * 65536 - SLOTS) / SLOT_BYTES)

/**
 * Addresses are slots; `limbs` is even and at least 4. A modulus is odd, below a quarter of R = 2^(27 limbs), with
 * -modulus^-1 mod 2^27 in its header. Results may replace operands unless a line says otherwise.
 */
export interface IntegerCode {
  readonly memory: { readonly buffer: ArrayBuffer }
  /** Little-endian bytes to limbs; the bytes are followed by zeros. `to` is another slot. */
  load(to: number, bytes: number, limbs: number): void
  /** Limbs to little-endian bytes, in another slot. */
  save(bytes: number, from: number, limbs: number): void
  /** Writes the header of a modulus. */
  setHeader(modulus: number, limbs: number): void
  /** a * b / R mod m, below 2m, if a * b < 4 m^2 or if b < m: then a may be anything below R. */
  multiply(to: number, a: number, b: number, modulus: number, limbs: number): void
  /** a * b, as 2 limbs limbs, in another slot. */
  multiplyWide(to: number, a: number, b: number, limbs: number): void
  /** a + b, which fits. */
  add(to: number, a: number, b: number, limbs: number): void
  /** a - b, plus m if that is negative. Brings a number below 2m below m as a - m mod m. `to` is another slot than m. */
  subtract(to: number, a: number, b: number, modulus: number, limbs: number): void
  /** base^exponent, in Montgomery's form like the base and `one`; little-endian exponent of `windows` windows. */
  power(to: number, base: number, exponent: number, windows: number, one: number, modulus: number, limbs: number): void
  /**
   * f and g, d = 0 and e = 1, all signed in the last limb: `rounds` times 27 division steps. Then f = +-gcd(f, g), and
   * if that is 1, g^-1 mod m = +-d with the same sign.
   */
  divisionSteps(f: number, g: number, d: number, e: number, modulus: number, rounds: number, limbs: number): void
  /** After divisionSteps: brings f to its absolute value and d, times the sign of f, between 0 and m. */
  settleInverse(d: number, f: number, modulus: number, limbs: number): void
  /** a / b without remainder, b odd; `a` is overwritten. */
  divideExact(to: number, a: number, b: number, limbs: number): void
  /** Overwrites everything. */
  wipe(): void
}

export function instantiateIntegerCode(): IntegerCode {
  const module = new WasmModule(MEMORY_PAGES)
  defineConversions(module)
  const inverse = defineInverse(module)
  const multiply = defineMultiply(module)
  defineLinear(module)
  definePower(module, multiply)
  defineDivisionSteps(module)
  defineDivideExact(module, inverse)
  module.define('wipe', [], [], () => [memoryFill(0, 0, MEMORY_PAGES * 65536)])
  return module.instantiate() as unknown as IntegerCode
}

/** Runs the body with `pointer`s moving on by `stride` bytes until the first has reached `end`. */
function forEach(pointers: readonly Local[], end: Operand, strides: readonly number[], body: readonly Code[]): Code {
  const step = pointers.map((pointer, i) => pointer.set(i32.add(pointer, strides[i]!)))
  return repeatWhile([...body, ...step], i32.ne(pointers[0]!, end))
}

const limbsEnd = (start: Operand, limbs: Operand): Code => i32.add(start, i32.shl(limbs, 2))
const low = (value: Operand): Code => i64.and(value, LIMB_MASK)
const carryOf = (value: Operand): Code => i64.shrU(value, LIMB_BITS)

function defineConversions(module: WasmModule): void {
  const position = (bytes: Operand, bit: Operand) => i32.add(bytes, i32.shrU(bit, 3))
  const offset = (bit: Operand) => i64.extendI32U(i32.and(bit, 7))

  module.define('load', ['i32', 'i32', 'i32'], [], ([to, bytes, limbs], local) => {
    const bit = local('i32')
    const end = local('i32')
    return [
      end.set(limbsEnd(to!, limbs!)),
      forEach(
        [to!, bit],
        end,
        [4, LIMB_BITS],
        [i64.store32(to!, low(i64.shrU(i64.load(position(bytes!, bit)), offset(bit))))],
      ),
    ]
  })

  module.define('save', ['i32', 'i32', 'i32'], [], ([bytes, from, limbs], local) => {
    const bit = local('i32')
    const end = local('i32')
    const at = local('i32')
    return [
      end.set(limbsEnd(from!, limbs!)),
      memoryFill(bytes!, 0, SLOT_BYTES - HEADER_BYTES),
      forEach(
        [from!, bit],
        end,
        [4, LIMB_BITS],
        [at.set(position(bytes!, bit)), i64.store(at, i64.or(i64.load(at), i64.shl(i64.load32U(from!), offset(bit))))],
      ),
    ]
  })
}

/** x^-1 mod 2^27 of an odd x: Newton's iteration doubles the correct bits, from the 3 of x itself. */
function defineInverse(module: WasmModule): Callee {
  const inverse = module.define('inverse', ['i64'], ['i64'], ([x], local) => {
    const y = local('i64')
    const iteration = y.set(i64.mul(y, i64.sub(2, i64.mul(x!, y))))
    return [y.set(x!), iteration, iteration, iteration, iteration, low(y)]
  })
  module.define('setHeader', ['i32', 'i32'], [], ([modulus]) => [
    i64.store(i32.sub(modulus!, HEADER_BYTES), low(i64.sub(0, inverse(i64.load32U(modulus!))))),
  ])
  return inverse
}

/** Carries through the column sums and stores the limbs. */
function storeColumns(to: Local, limbs: Operand, local: NewLocal): Code[] {
  const column = local('i32')
  const end = local('i32')
  const sum = local('i64')
  return [
    column.set(COLUMNS),
    end.set(limbsEnd(to, limbs)),
    sum.set(0),
    forEach(
      [to, column],
      end,
      [4, 8],
      [sum.set(i64.add(sum, i64.load(column))), i64.store32(to, low(sum)), sum.set(carryOf(sum))],
    ),
  ]
}

/** Two limbs of b in one pass over a: half the loads and stores of the column sums. */
function defineMultiply(module: WasmModule): Callee {
  const sum = (...terms: Code[]): Code => terms.reduce((total, term) => i64.add(total, term))

  module.define('multiplyWide', ['i32', 'i32', 'i32', 'i32'], [], ([to, a, b, limbs], local) => {
    const bEnd = local('i32')
    const row = local('i32')
    const column = local('i32')
    const ap = local('i32')
    const aEnd = local('i32')
    const wide = i32.shl(limbs!, 1)
    return [
      memoryFill(COLUMNS, 0, i32.shl(wide, 3)),
      aEnd.set(limbsEnd(a!, limbs!)),
      bEnd.set(limbsEnd(b!, limbs!)),
      forEach(
        [b!, row],
        bEnd,
        [4, 8],
        [
          column.set(i32.add(row, COLUMNS)),
          ap.set(a!),
          forEach(
            [ap, column],
            aEnd,
            [4, 8],
            [i64.store(column, sum(i64.load(column), i64.mul(i64.load32U(ap), i64.load32U(b!))))],
          ),
        ],
      ),
      ...storeColumns(to!, wide, local),
    ]
  })

  return module.define('multiply', ['i32', 'i32', 'i32', 'i32', 'i32'], [], ([to, a, b, modulus, limbs], local) => {
    const [bEnd, aEnd, ap, mp, column] = [local('i32'), local('i32'), local('i32'), local('i32'), local('i32')]
    // Limbs in hand: two of b, two digits of the quotient, and of a and m the even-numbered and the odd-numbered one.
    const [b0, b1, q0, q1] = [local('i64'), local('i64'), local('i64'), local('i64')]
    const [a0, a1, m0, m1] = [local('i64'), local('i64'), local('i64'), local('i64')]
    const [negativeInverse, total, carry] = [local('i64'), local('i64'), local('i64')]
    const digit = low(i64.mul(total, negativeInverse))
    return [
      memoryFill(COLUMNS, 0, i32.shl(limbs!, 3)),
      negativeInverse.set(i64.load(i32.sub(modulus!, HEADER_BYTES))),
      aEnd.set(limbsEnd(a!, limbs!)),
      bEnd.set(limbsEnd(b!, limbs!)),
      forEach(
        [b!],
        bEnd,
        [8],
        [
          b0.set(i64.load32U(b!)),
          b1.set(i64.load32U(b!, 4)),
          a0.set(i64.load32U(a!)),
          a1.set(i64.load32U(a!, 4)),
          m0.set(i64.load32U(modulus!)),
          m1.set(i64.load32U(modulus!, 4)),
          total.set(i64.add(i64.load(COLUMNS), i64.mul(a0, b0))),
          q0.set(digit),
          carry.set(carryOf(i64.add(total, i64.mul(q0, m0)))),
          total.set(sum(i64.load(COLUMNS, 8), i64.mul(a1, b0), i64.mul(a0, b1), i64.mul(q0, m1), carry.get)),
          q1.set(digit),
          carry.set(carryOf(i64.add(total, i64.mul(q1, m0)))),
          ap.set(i32.add(a!, 8)),
          mp.set(i32.add(modulus!, 8)),
          column.set(COLUMNS),
          forEach(
            [ap, mp, column],
            aEnd,
            [8, 8, 16],
            [
              a0.set(i64.load32U(ap)),
              m0.set(i64.load32U(mp)),
              i64.store(
                column,
                sum(i64.load(column, 16), i64.mul(a0, b0), i64.mul(a1, b1), i64.mul(m0, q0), i64.mul(m1, q1)),
              ),
              a1.set(i64.load32U(ap, 4)),
              m1.set(i64.load32U(mp, 4)),
              i64.store(
                column,
                sum(i64.load(column, 24), i64.mul(a1, b0), i64.mul(a0, b1), i64.mul(m1, q0), i64.mul(m0, q1)),
                8,
              ),
            ],
          ),
          i64.store(column, i64.add(i64.mul(a1, b1), i64.mul(m1, q1))),
          i64.store(column, 0, 8),
          i64.store(COLUMNS, i64.add(i64.load(COLUMNS), carry)),
        ],
      ),
      ...storeColumns(to!, limbs!, local),
    ]
  })
}

function defineLinear(module: WasmModule): void {
  module.define('add', ['i32', 'i32', 'i32', 'i32'], [], ([to, a, b, limbs], local) => {
    const end = local('i32')
    const sum = local('i32')
    return [
      end.set(limbsEnd(a!, limbs!)),
      forEach(
        [a!, b!, to!],
        end,
        [4, 4, 4],
        [
          sum.set(i32.add(sum, i32.add(i32.load(a!), i32.load(b!)))),
          i32.store(to!, i32.and(sum, LIMB_MASK)),
          sum.set(i32.shrU(sum, LIMB_BITS)),
        ],
      ),
    ]
  })

  module.define('subtract', ['i32', 'i32', 'i32', 'i32', 'i32'], [], ([to, a, b, modulus, limbs], local) => {
    const end = local('i32')
    const mask = local('i32') // all ones if a < b
    const sum = local('i32')
    const pointer = local('i32')
    return [
      end.set(limbsEnd(a!, limbs!)),
      pointer.set(to!),
      forEach(
        [a!, b!, pointer],
        end,
        [4, 4, 4],
        [
          mask.set(i32.add(mask, i32.sub(i32.load(a!), i32.load(b!)))),
          i32.store(pointer, i32.and(mask, LIMB_MASK)),
          mask.set(i32.shrS(mask, LIMB_BITS)),
        ],
      ),
      end.set(limbsEnd(to!, limbs!)),
      forEach(
        [to!, modulus!],
        end,
        [4, 4],
        [
          sum.set(i32.add(sum, i32.add(i32.load(to!), i32.and(i32.load(modulus!), mask)))),
          i32.store(to!, i32.and(sum, LIMB_MASK)),
          sum.set(i32.shrU(sum, LIMB_BITS)),
        ],
      ),
    ]
  })
}

function definePower(module: WasmModule, multiply: Callee): void {
  /** Reads all entries and keeps the one with the given number. */
  const select = module.define('select', ['i32', 'i32', 'i32'], [], ([to, index, limbs], local) => {
    const [end, entry, number, value] = [local('i32'), local('i32'), local('i32'), local('i64')]
    const mask = local('i64')
    const pointer = local('i32')
    const stride = i32.shl(limbs!, 2)
    return [
      memoryFill(to!, 0, stride),
      entry.set(TABLE),
      repeatWhile(
        [
          // number ^ index is below 32: minus one has its high bits set only if it was zero.
          mask.set(i64.shrS(i64.sub(i64.extendI32U(i32.xor(number, index!)), 1), 63)),
          pointer.set(to!),
          end.set(limbsEnd(to!, limbs!)),
          // Two limbs at a time.
          forEach(
            [pointer, entry],
            end,
            [8, 8],
            [value.set(i64.and(i64.load(entry), mask)), i64.store(pointer, i64.or(i64.load(pointer), value))],
          ),
          number.set(i32.add(number, 1)),
        ],
        i32.ne(number, WINDOW_ENTRIES),
      ),
    ]
  })

  const parameters = ['i32', 'i32', 'i32', 'i32', 'i32', 'i32', 'i32'] as const
  module.define('power', parameters, [], ([to, base, exponent, windows, one, modulus, limbs], local) => {
    const [entry, stride, last, bit, count] = [local('i32'), local('i32'), local('i32'), local('i32'), local('i32')]
    const FACTOR = slot(SLOTS_MAX - 1)
    const square = multiply(to!, to!, to!, modulus!, limbs!)
    const window = i32.and(
      i32.shrU(i32.load(i32.add(exponent!, i32.shrU(bit, 3))), i32.and(bit, 7)),
      WINDOW_ENTRIES - 1,
    )
    return [
      stride.set(i32.shl(limbs!, 2)),
      entry.set(TABLE),
      last.set(i32.add(TABLE, i32.mul(stride, WINDOW_ENTRIES - 1))),
      memoryCopy(entry, one!, stride),
      repeatWhile(
        [multiply(i32.add(entry, stride), entry, base!, modulus!, limbs!), entry.set(i32.add(entry, stride))],
        i32.ne(entry, last),
      ),
      count.set(windows!),
      bit.set(i32.mul(i32.sub(windows!, 1), WINDOW_BITS)),
      select(to!, window, limbs!),
      count.set(i32.sub(count, 1)),
      repeatWhile(
        [
          bit.set(i32.sub(bit, WINDOW_BITS)),
          ...Array<Code>(WINDOW_BITS).fill(square),
          select(FACTOR, window, limbs!),
          multiply(to!, to!, FACTOR, modulus!, limbs!),
          count.set(i32.sub(count, 1)),
        ],
        i32.ne(count, 0),
      ),
    ]
  })
}

function defineDivisionSteps(module: WasmModule): void {
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

    /** One step of the pair (f, g), of which it looks at the lowest bit; 27 steps need one limb of each. */
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

    /** (x, y) = (matrix * (x, y) + m * (xTimes, yTimes)) / 2^27, without remainder. */
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
          // The first limb is zero and lands below the number, in the unused part of the header.
          i64.store32(i32.sub(xp, 4), low(xSum)),
          i64.store32(i32.sub(yp, 4), low(ySum)),
          xSum.set(i64.shrS(xSum, LIMB_BITS)),
          ySum.set(i64.shrS(ySum, LIMB_BITS)),
        ],
      ),
      i64.store32(i32.sub(xp, 4), xSum),
      i64.store32(i32.sub(yp, 4), ySum),
    ]

    /** `times` less 0 to 2^27 - 1, so that sum + times * m is a multiple of 2^27. */
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
          // Between -2m and m before: adding m to the negative ones and taking it away less than 2^27 times keeps that.
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

  /** x = +-(x + (m & add)), negated if `negate` is all ones; both masks. */
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

function defineDivideExact(module: WasmModule, inverse: Callee): void {
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
