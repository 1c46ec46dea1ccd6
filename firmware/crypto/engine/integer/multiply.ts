/**
 * Products and powers of the plain integer arithmetic: Montgomery, "Modular multiplication without trial division" (1985), with
 * carries deferred to the end.
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
  type WasmModule,
} from '../wasm.ts'
import {
  COLUMNS,
  carryOf,
  forEach,
  HEADER_BYTES,
  limbsEnd,
  low,
  SLOTS_MAX,
  slot,
  TABLE,
  WINDOW_BITS,
  WINDOW_ENTRIES,
} from './layout.ts'

/** Processes two limbs of b in one pass over a, which halves the loads and stores of column sums. */
export function defineMultiply(module: WasmModule): Callee {
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
    // Current limbs: two of b, two digits of the quotient, and one with an even and one with an odd index of a and m.
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

export function definePower(module: WasmModule, multiply: Callee): void {
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
          // number ^ index is below 32: minus one, its high bits are set only if it was zero.
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
