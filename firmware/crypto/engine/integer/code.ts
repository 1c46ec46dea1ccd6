/** The plain integer arithmetic as one WebAssembly module: interface, conversions and sums. */

import { i32, i64, memoryFill, type Operand, WasmModule } from '../wasm.ts'
import { defineDivideExact, defineDivisionSteps, defineInverse } from './inverse.ts'
import { forEach, HEADER_BYTES, LIMB_BITS, LIMB_MASK, limbsEnd, low, MEMORY_PAGES, SLOT_BYTES } from './layout.ts'
import { defineMultiply, definePower } from './multiply.ts'

/**
 * Addresses are slots; `limbs` is even and at least 4. A modulus is odd and below a quarter of R = 2^(27 limbs), with -modulus^-1
 * mod 2^27 in its header. Results may overwrite operands unless noted otherwise.
 */
export interface IntegerCode {
  readonly memory: { readonly buffer: ArrayBuffer }
  /** Converts little-endian bytes to limbs. Zeros must follow the bytes. `to` must be another slot. */
  load(to: number, bytes: number, limbs: number): void
  /** Converts limbs to little-endian bytes, in another slot. */
  save(bytes: number, from: number, limbs: number): void
  setHeader(modulus: number): void
  /** a * b / R mod m, below 2m, if a * b < 4 m^2. If b < m, a may be any number below R. */
  multiply(to: number, a: number, b: number, modulus: number, limbs: number): void
  /** a * b, twice as long, in another slot. */
  multiplyWide(to: number, a: number, b: number, limbs: number): void
  /** a + b, which must fit the limbs. */
  add(to: number, a: number, b: number, limbs: number): void
  /** a - b, plus m if the difference is negative. With b = m, reduces a number below 2m. `to` must be another slot than m. */
  subtract(to: number, a: number, b: number, modulus: number, limbs: number): void
  /** base^exponent, in Montgomery form as `base` and `one` are. The exponent is little-endian and has `windows` windows. */
  power(to: number, base: number, exponent: number, windows: number, one: number, modulus: number, limbs: number): void
  /**
   * Performs `rounds` times 27 division steps on f and g, with initial d = 0 and e = 1. The last limb of all four is signed.
   * Afterwards f = +-gcd(f, g); if that is +-1, g^-1 mod m = +-d with the same sign.
   */
  divisionSteps(f: number, g: number, d: number, e: number, modulus: number, rounds: number, limbs: number): void
  /** Call it after `divisionSteps`: sets f to its absolute value, and d, times the sign of f, to 0 .. m - 1. */
  settleInverse(d: number, f: number, modulus: number, limbs: number): void
  /** a / b, which must have no remainder; b is odd. Overwrites `a`. */
  divideExact(to: number, a: number, b: number, limbs: number): void
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
