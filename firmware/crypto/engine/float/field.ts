/**
 * Arithmetic modulo two odd numbers at once, one in each lane of the vectors. There is one WebAssembly instance for each number
 * of limbs. README.md explains the numbers; this file manages their memory.
 */

import { newSecret, transientSecret, wipe } from '../../../base/secret.ts'
import type { Pair } from '../engine.ts'
import type { WasmExports } from '../wasm.ts'
import { byteLimbs } from './bytes-code.ts'
import type { Products } from './emitter.ts'
import { type Extension, emitField, type Layout, layOut } from './field-code.ts'
import type { Format } from './format.ts'
import { LIMB_BYTES } from './machine.ts'
import { columnBiases, ROWS } from './montgomery.ts'
import { WINDOW_BITS, WINDOW_ENTRIES } from './power-code.ts'

/** B^limbs is at least 2^8 times a modulus n. Results stay below n in absolute value (unsigned: below 3 n), which leaves room for sums. */
const SPARE_BITS = 8

/** Numbers in memory, one in each lane, by name or position. `one` and `square` are B^limbs and its square modulo each modulus. */
export type Slot = keyof Layout['slots'] | number

interface FieldExports {
  memory: WasmExports['memory']
  square: (to: number, a: number) => undefined
  multiply: (to: number, a: number, b: number) => undefined
  add: (to: number, a: number, b: number) => undefined
  subtract: (to: number, a: number, b: number) => undefined
  canonical: (to: number, a: number) => undefined
  product: (a: number, b: number, plus: number) => undefined
  setModulus: (lane: number) => undefined
  copyLane: (to: number, from: number, limbs: number) => undefined
  enter: (to: number, from: number, limbs: number) => undefined
  leave: (to: number, from: number, limbs: number) => undefined
  reduceWide: (to: number) => undefined
  /** Windows are stored from first to last at `windows`. */
  power: (to: number, windows: number, count: number) => undefined
  /** The same for base 2. Expects 1 in `to`. */
  twoToThe: (to: number, windows: number, count: number) => undefined
}

/** All values that depend on the moduli, in both lanes. As secret as the moduli. */
type FieldState = Float64Array

/** Windows of two exponents, from first to last, in the memory's form. As secret as the exponents. */
export type Windows = Uint32Array

export class Field {
  readonly limbs: number
  readonly format: Format
  /** The part of the memory that differs between keys. */
  readonly secrets: Float64Array
  readonly layout: Layout
  /** Views of the complete memory: doubles, 32-bit words, and bytes. */
  readonly numbers: Float64Array
  readonly words: Uint32Array
  readonly bytes: Uint8Array
  readonly code: FieldExports

  constructor(limbs: number, format: Format, more?: Extension, products: Products = 'fused') {
    this.limbs = limbs
    this.format = format
    this.layout = layOut(limbs, more)
    this.code = emitField(this.layout, format, products, more).instantiate() as unknown as FieldExports
    const memory = this.code.memory.buffer
    this.numbers = new Float64Array(memory)
    this.words = new Uint32Array(memory)
    this.bytes = new Uint8Array(memory)
    this.secrets = this.numbers.subarray(0, 2 * this.layout.secretEnd)
    const biases = new BigUint64Array(memory)
    for (const kind of ['square', 'multiply', 'product', 'none'] as const) {
      columnBiases(format, limbs, this.layout.digits, kind).forEach((bias, k) => {
        const at = 2 * (this.layout[kind] + k)
        biases.fill(bias, at, at + 2)
      })
    }
  }

  /** Sets odd moduli of at most `limbsFor` bits. */
  setModuli(moduli: Pair<Uint8Array>): void {
    for (const lane of LANES) {
      this.#putNumber(moduli[lane])
      this.code.setModulus(lane * LANE_BYTES)
    }
    // B^limbs by doubling from a power of two below both moduli
    const bits = Math.min(...moduli.map(bitLength)) - 1
    const power = new Float64Array(this.limbs)
    const radix = Number(this.format.radix)
    power[Math.floor(bits / radix)] = 2 ** (bits % radix)
    this.put('one', [power, power])
    for (let i = bits; i < this.limbs * radix; i++) {
      this.add('one', 'one', 'one')
      // the input of `canonical` must be in range
      if (this.format.isSigned) this.code.subtract(this.at('one'), this.at('one'), this.layout.modulus * LIMB_BYTES)
      this.canonical('one', 'one')
    }
    this.powerOfTwo('square', this.limbs * radix)
  }

  state(): FieldState {
    return this.numbers.slice(0, 2 * this.layout.stateEnd)
  }

  restore(state: FieldState): void {
    this.numbers.set(state)
  }

  keepState(to: number): void {
    this.numbers.copyWithin(2 * to, 0, 2 * this.layout.stateEnd)
  }

  takeState(from: number): void {
    this.numbers.copyWithin(0, 2 * from, 2 * (from + this.layout.stateEnd))
  }

  wipe(): void {
    wipe(this.secrets)
  }

  /** Writes 2^exponent in Montgomery form. */
  powerOfTwo(to: Slot, exponent: number): void {
    this.copy(to, 'one')
    for (const bit of exponent.toString(2)) {
      this.square(to, to)
      if (bit === '1') this.add(to, to, to)
    }
  }

  square(to: Slot, a: Slot): void {
    this.code.square(this.at(to), this.at(a))
  }

  multiply(to: Slot, a: Slot, b: Slot): void {
    this.code.multiply(this.at(to), this.at(a), this.at(b))
  }

  add(to: Slot, a: Slot, b: Slot): void {
    this.code.add(this.at(to), this.at(a), this.at(b))
  }

  subtract(to: Slot, a: Slot, b: Slot): void {
    this.code.subtract(this.at(to), this.at(a), this.at(b))
  }

  /** Reduces a result of multiplication to 0 .. n - 1. */
  canonical(to: Slot, a: Slot): void {
    this.code.canonical(this.at(to), this.at(a))
  }

  /** Reduces a number of up to twice as many limbs, and divides it by B^limbs. */
  reduce(to: Slot, number: Uint8Array): void {
    this.enter(this.layout.wide, LANES, number, 2 * this.limbs)
    this.code.reduceWide(this.at(to))
  }

  /** Returns the last `length` bytes of a b + c in one lane. a, b and c must be non-negative. */
  product(a: Slot, b: Slot, c: Slot, lane: 0 | 1, length: number): Uint8Array {
    this.code.product(this.at(a), this.at(b), this.at(c))
    return this.leave(this.layout.wide, lane, 2 * this.limbs, newSecret(length))
  }

  /** base^exponents[lane]. Time and addresses depend only on the exponents' lengths. */
  power(to: Slot, base: Slot, windows: Windows): void {
    const { table } = this.layout
    const entry = (i: number): number => (table + i * this.limbs) * LIMB_BYTES
    this.copy(table, 'one')
    this.copy(table + this.limbs, base)
    for (let i = 2; i < WINDOW_ENTRIES; i++) {
      if (i % 2 === 0) this.code.square(entry(i), entry(i / 2))
      else this.code.multiply(entry(i), entry(i - 1), entry(1))
    }
    this.code.power(this.at(to), ...this.#putWindows(windows))
  }

  /** 2^exponents[lane], with the same guarantee. */
  twoToThe(to: Slot, windows: Windows): void {
    this.copy(to, 'one')
    this.code.twoToThe(this.at(to), ...this.#putWindows(windows))
  }

  #putWindows(windows: Windows): [at: number, count: number] {
    const count = windows.length / WINDOW_WORDS
    if (count > this.layout.windowsMax) throw new Error('exponent: longer than the modulus can be')
    this.words.set(windows, WINDOW_WORDS * this.layout.windows)
    return [this.layout.windows * LIMB_BYTES, count]
  }

  put(slot: Slot, numbers: Pair<Float64Array>): void {
    for (const lane of LANES) this.#write(this.#slot(slot), lane, numbers[lane])
  }

  copy(to: Slot, from: Slot): void {
    const source = 2 * this.#slot(from)
    this.numbers.copyWithin(2 * this.#slot(to), source, source + 2 * this.limbs)
  }

  putBytes(slot: Slot, numbers: Pair<Uint8Array>): void {
    for (const lane of LANES) this.enter(slot, [lane], numbers[lane])
  }

  copyLane(to: Slot, from: Slot, lane: 0 | 1): void {
    this.code.copyLane(this.at(to) + lane * LANE_BYTES, this.at(from) + lane * LANE_BYTES, this.limbs)
  }

  spread(to: Slot, from: Slot, lane: 0 | 1): void {
    for (const other of LANES) {
      this.code.copyLane(this.at(to) + other * LANE_BYTES, this.at(from) + lane * LANE_BYTES, this.limbs)
    }
  }

  get(slot: Slot, lane: 0 | 1): Float64Array {
    const at = 2 * this.#slot(slot) + lane
    return Float64Array.from({ length: this.limbs }, (_, k) => this.numbers[at + 2 * k]!)
  }

  /** Returns a copy of both lanes in the memory's form. */
  take(slot: Slot): Float64Array {
    const at = 2 * this.#slot(slot)
    return this.numbers.slice(at, at + 2 * this.limbs)
  }

  place(slot: Slot, lanes: Float64Array): void {
    this.numbers.set(lanes, 2 * this.#slot(slot))
  }

  /** Expects a canonical number. */
  isZero(slot: Slot, lanes: readonly (0 | 1)[] = LANES): boolean {
    const at = 2 * this.#slot(slot)
    let bits = 0
    for (const lane of lanes) {
      for (let k = at + lane; k < at + 2 * this.limbs; k += 2) bits |= this.words[2 * k]! | this.words[2 * k + 1]!
    }
    return bits === 0
  }

  /** Expects a canonical number. */
  getBytes(slot: Slot, lane: 0 | 1, length: number): Uint8Array {
    return this.leave(slot, lane, this.limbs, newSecret(length))
  }

  getTransient(slot: Slot, lane: 0 | 1, length: number): Uint8Array {
    return this.leave(slot, lane, this.limbs, transientSecret(length))
  }

  /** Writes big-endian bytes as limbs of these lanes. Bytes beyond the limbs are ignored. */
  enter(to: Slot, lanes: readonly (0 | 1)[], number: Uint8Array, limbs = this.limbs): void {
    this.#putNumber(number)
    for (const lane of lanes) this.code.enter(this.at(to) + lane * LANE_BYTES, this.layout.bytes * LIMB_BYTES, limbs)
  }

  #putNumber(number: Uint8Array): void {
    const from = this.layout.bytes * LIMB_BYTES
    const end = from + byteLimbs(this.limbs) * LIMB_BYTES
    const count = Math.min(end - from, number.length)
    for (let i = 0; i < count; i++) this.bytes[from + i] = number[number.length - 1 - i]!
    this.bytes.fill(0, from + count, end)
  }

  /** Reads the last bytes of a canonical number, or of non-negative limbs, to fill `room`. */
  leave(from: Slot, lane: 0 | 1, limbs: number, room: Uint8Array): Uint8Array {
    const to = this.layout.bytes * LIMB_BYTES
    this.code.leave(to, this.at(from) + lane * LANE_BYTES, limbs)
    const last = to + room.length - 1
    for (let i = 0; i < room.length; i++) room[i] = this.bytes[last - i]!
    return room
  }

  #write(at: number, lane: 0 | 1, limbs: Float64Array): void {
    for (let k = 0; k < limbs.length; k++) this.numbers[2 * (at + k) + lane] = limbs[k]!
  }

  #slot(slot: Slot): number {
    return typeof slot === 'number' ? slot : this.layout.slots[slot]
  }

  at(slot: Slot): number {
    return this.#slot(slot) * LIMB_BYTES
  }
}

export const limbsFor = (bits: number, { radix }: Format): number =>
  Math.max(ROWS + 1, Math.ceil((bits + SPARE_BITS) / Number(radix)))

/** Splits two exponents into windows. Time and addresses depend only on their lengths. */
export function windowsOf(exponents: Pair<Uint8Array>): Windows {
  const count = Math.ceil((8 * Math.max(...exponents.map((e) => e.length))) / WINDOW_BITS)
  const windows = new Uint32Array(WINDOW_WORDS * count)
  for (const lane of LANES) {
    const bytes = exponents[lane]
    const byte = (index: number): number => bytes[bytes.length - 1 - index] ?? 0
    for (let i = 0; i < count; i++) {
      const [index, shift] = [(WINDOW_BITS * i) >> 3, (WINDOW_BITS * i) & 7]
      const window = ((byte(index) | (byte(index + 1) << 8)) >> shift) & (WINDOW_ENTRIES - 1)
      windows[WINDOW_WORDS * (count - 1 - i) + 2 * lane] = window
    }
  }
  return windows
}

const LANES = [0, 1] as const
const LANE_BYTES = LIMB_BYTES / 2
/** Words of two windows, one of 64 bits for each lane. */
const WINDOW_WORDS = 4

export function bitLength(bytes: Uint8Array): number {
  const first = bytes.findIndex((byte) => byte !== 0)
  return first < 0 ? 0 : 8 * (bytes.length - first) - Math.clz32(bytes[first]!) + 24
}
