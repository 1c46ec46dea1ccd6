/** Emits WebAssembly for a generator. Every value gets a local of its own; the optimizing compiler assigns registers. */

import { type Code, f64x2, i32, i64x2, ifThen, type Local, type NewLocal, repeatWhile, v128 } from '../wasm.ts'
import type { Format } from './format.ts'
import { doubleBits, type FloatMachine, LIMB_BYTES, type Walk } from './machine.ts'

/** An address: a local or zero, plus a constant number of bytes. */
export interface CodeAddress {
  base: Local | 0
  bytes: number
}

/**
 * Method of splitting a product in two: fused multiply-add, or operations with the same rounding on all processors, about four
 * times slower.
 */
export type Products = 'fused' | 'exact'

export class Emitter implements FloatMachine<Local, CodeAddress, Local | number> {
  #code: Code[] = []
  readonly #prologue: Code[] = []
  readonly #local: NewLocal
  readonly #constants = new Map<bigint, Local>()
  readonly format: Format
  protected readonly products: Products

  constructor(local: NewLocal, format: Format, products: Products) {
    this.#local = local
    this.format = format
    this.products = products
  }

  protected keep(value: Code, type: 'v128' | 'i32' = 'v128'): Local {
    const local = this.#local(type)
    this.#code.push(local.set(value))
    return local
  }

  constant(bits: bigint): Local {
    const known = this.#constants.get(bits)
    if (known !== undefined) return known
    const local = this.#local('v128')
    this.#prologue.push(local.set(v128.constant(bits)))
    this.#constants.set(bits, local)
    return local
  }

  load(from: CodeAddress, limb: number): Local {
    return this.keep(v128.load(from.base, from.bytes + limb * LIMB_BYTES))
  }

  store(to: CodeAddress, limb: number, value: Local): void {
    this.#code.push(v128.store(to.base, value, to.bytes + limb * LIMB_BYTES))
  }

  at(from: CodeAddress, limbs: number): CodeAddress {
    return { base: from.base, bytes: from.bytes + limbs * LIMB_BYTES }
  }

  split(a: Local, b: Local): { high: Local; low: Local } {
    const toHigh = this.constant(this.format.highMagic)
    const toLow = this.constant(this.format.toLow)
    if (this.products === 'fused') {
      const high = this.keep(f64x2.relaxedMadd(a, b, toHigh))
      return { high, low: this.keep(f64x2.relaxedMadd(a, b, f64x2.sub(toLow, high))) }
    }
    // Dekker 1971: a b = product + error, both exact, from factors split in halves
    const product = this.keep(f64x2.mul(a, b))
    const [a1, b1] = [this.#upperHalf(a), this.#upperHalf(b)]
    const [a0, b0] = [this.minus(a, a1), this.minus(b, b1)]
    const middle = f64x2.add(f64x2.add(f64x2.sub(f64x2.mul(a1, b1), product), f64x2.mul(a1, b0)), f64x2.mul(a0, b1))
    const error = f64x2.add(middle, f64x2.mul(a0, b0))
    const high = this.keep(f64x2.add(product, toHigh))
    return { high, low: this.keep(f64x2.add(f64x2.add(f64x2.sub(toLow, high), product), error)) }
  }

  /** Upper 26 of the 53 bits. */
  #upperHalf(a: Local): Local {
    const product = this.keep(f64x2.mul(a, this.constant(doubleBits(2 ** 27 + 1))))
    return this.keep(f64x2.sub(product, f64x2.sub(product, a)))
  }

  plus = (a: Local, b: Local): Local => this.keep(f64x2.add(a, b))
  minus = (a: Local, b: Local): Local => this.keep(f64x2.sub(a, b))
  add = (a: Local, b: Local): Local => this.keep(i64x2.add(a, b))
  sub = (a: Local, b: Local): Local => this.keep(i64x2.sub(a, b))
  and = (a: Local, b: Local): Local => this.keep(v128.and(a, b))
  or = (a: Local, b: Local): Local => this.keep(v128.or(a, b))
  shiftRight = (a: Local, bits: number): Local => this.keep(i64x2.shrU(a, bits))

  bounded = (a: Local): Local => a

  repeat(
    times: number | Local,
    walk: readonly Walk<CodeAddress>[],
    body: (pointers: CodeAddress[], remaining: Local | number) => void,
  ): CodeAddress[] {
    const remaining = this.keep(i32.add(times, 0), 'i32')
    const pointers = walk.map(({ from }) => ({ base: this.keep(i32.add(from.base, from.bytes), 'i32'), bytes: 0 }))
    if (times === 0) return pointers
    const outer = this.#code
    this.#code = []
    body(pointers, remaining)
    const advance = pointers.map(({ base }, i) => base.set(i32.add(base, walk[i]!.step * LIMB_BYTES)))
    const loop = repeatWhile([...this.#code, ...advance], remaining.tee(i32.sub(remaining, 1)))
    this.#code = outer
    this.#code.push(typeof times === 'number' ? loop : ifThen(remaining, [loop]))
    return pointers
  }

  get code(): Code[] {
    return [...this.#prologue, ...this.#code]
  }

  less(counter: Local | number, by: number): Local | number {
    return typeof counter === 'number' ? counter - by : this.keep(i32.sub(counter, by), 'i32')
  }

  variable(initial: Local): { get: () => Local; set: (value: Local) => void } {
    const local = this.keep(initial.get)
    return { get: () => this.keep(local.get), set: (value) => this.#code.push(local.set(value.get)) }
  }
}

/** For few limbs: unrolls loops and holds one part of the memory in registers, without ever writing it to memory. */
export class UnrollingEmitter extends Emitter {
  readonly #first: number
  readonly #end: number
  readonly #held = new Map<number, Local>()

  constructor(local: NewLocal, format: Format, products: Products, firstLimb: number, limbs: number) {
    super(local, format, products)
    this.#first = firstLimb * LIMB_BYTES
    this.#end = this.#first + limbs * LIMB_BYTES
  }

  override load(from: CodeAddress, limb: number): Local {
    return this.#held.get(this.#place(from, limb)) ?? super.load(from, limb)
  }

  override store(to: CodeAddress, limb: number, value: Local): void {
    const place = this.#place(to, limb)
    if (place >= this.#first && place < this.#end) this.#held.set(place, value)
    else super.store(to, limb, value)
  }

  override repeat(
    times: number | Local,
    walk: readonly Walk<CodeAddress>[],
    body: (pointers: CodeAddress[], remaining: Local | number) => void,
  ): CodeAddress[] {
    if (typeof times !== 'number') throw new Error('a loop that cannot be unrolled')
    const pointers = (turn: number) => walk.map(({ from, step }) => this.at(from, turn * step))
    for (let turn = 0; turn < times; turn++) body(pointers(turn), times - turn)
    return pointers(times)
  }

  #place(address: CodeAddress, limb: number): number {
    return address.base === 0 ? address.bytes + limb * LIMB_BYTES : Number.NaN
  }
}
