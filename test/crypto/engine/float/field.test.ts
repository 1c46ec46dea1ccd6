// @test long 30 slow
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { Field, limbsFor, type Slot, windowsOf } from '../../../../firmware/crypto/engine/float/field.ts'
import { type Format, SIGNED, UNSIGNED } from '../../../../firmware/crypto/engine/float/format.ts'
import { range } from '../../../../firmware/crypto/engine/float/montgomery.ts'
import { whyNotFused } from '../../../../firmware/crypto/engine/float/probe.ts'
import { toBigInt, toBytes } from '../../rsa-keys.ts'
import { oddModuli, operand, randomBelow } from '../differential.ts'

const OPERATIONS = process.env.COFFER_SLOW === undefined ? 2000 : 100_000 // for each size

const value = (limbs: Float64Array, { radix }: Format): bigint =>
  limbs.reduceRight((sum, limb) => (sum << radix) + BigInt(limb), 0n)

/** Limbs from -B / 2 or zero up, but for the last. */
function toLimbs(number: bigint, limbs: number, { radix, half, mask }: Format): Float64Array {
  let rest = number
  return Float64Array.from(range(limbs), (_, k) => {
    const limb = k === limbs - 1 ? rest : ((rest + half) & mask) - half
    rest = (rest - limb) >> radix
    return Number(limb)
  })
}

/** How far operands may be from zero, in multiples of the modulus, and results of multiplications are. */
const bounds = ({ isSigned }: Format): { operand: bigint; result: bigint } =>
  isSigned ? { operand: 1n, result: 1n } : { operand: 7n, result: 3n }

/** Limbs at either end of what they may be, with a value below the limit. */
function extremeLimbs(limbs: number, limit: bigint, format: Format): Float64Array {
  const [lowest, highest] = [-Number(format.half), Number(format.mask - format.half)]
  const last = Number(limit >> (format.radix * BigInt(limbs - 1)))
  const result = Float64Array.from(range(limbs), (_, k) => {
    const choice = Math.random()
    if (k === limbs - 1) return choice < 0.5 ? 0 : last
    return choice < 0.4 ? lowest : choice < 0.8 ? highest : choice < 0.9 ? 0 : format.isSigned ? -1 : 1
  })
  for (let k = limbs - 1; k >= 0; k--) {
    const size = value(result, format)
    if (size < limit && size > -limit) break
    result[k] = 0
  }
  return result
}

function isWithin(number: bigint, limit: bigint, { isSigned }: Format): boolean {
  return number < limit && (isSigned ? number > -limit : number >= 0n)
}

const fused = whyNotFused() ?? false
const KINDS = [
  ...[64, 256, 300, 384, 521, 1024].flatMap((bits) => [
    { bits, name: 'around zero, fused', format: SIGNED, products: 'fused', skip: fused } as const,
    { bits, name: 'around zero, exact', format: SIGNED, products: 'exact', skip: false } as const,
  ]),
  ...[64, 256, 300, 512, 521, 780, 1024, 1536, 2048].map(
    (bits) => ({ bits, name: 'from zero up', format: UNSIGNED, products: 'fused', skip: fused }) as const,
  ),
]

for (const { bits, name, format, products, skip } of KINDS) {
  test(`${bits} bits, ${name}: two moduli at once agree with BigInt, at the edges too`, { skip }, () => {
    const limbs = limbsFor(bits, format)
    const field = new Field(limbs, format, undefined, products)
    const R = 1n << (format.radix * BigInt(limbs))
    const bytes = Math.ceil(bits / 8)
    const most = bounds(format)
    const moduli = oddModuli(bits, 10)
    const get = (slot: Slot, lane: 0 | 1): bigint => {
      const result = field.get(slot, lane)
      if (!format.isSigned) assert.ok(result.every((limb) => limb >= 0 && limb < 2 ** 52))
      return value(result, format)
    }
    for (let done = 0; done < OPERATIONS; ) {
      const pair = [0, 1].map(() => moduli[Number(randomBelow(BigInt(moduli.length)))]!) as [bigint, bigint]
      field.setModuli([toBytes(pair[0], bytes), toBytes(pair[1], bytes)])
      for (let i = 0; i < 50; i++, done++) {
        const numbers = (n: bigint) => {
          if (i % 3 === 0) return extremeLimbs(limbs, most.operand * n, format)
          const number = i % 3 === 1 ? operand(n) : operand(most.operand * n)
          return toLimbs(number, limbs, format)
        }
        const a = pair.map(numbers) as [Float64Array, Float64Array]
        const b = pair.map(numbers) as [Float64Array, Float64Array]
        field.put('a', a)
        field.put('b', b)
        const check = (slot: Slot, limit: bigint, expected: (a: bigint, b: bigint) => bigint, scale = 1n) => {
          for (const lane of [0, 1] as const) {
            const [n, result] = [pair[lane], get(slot, lane)]
            const [x, y] = [value(a[lane], format), value(b[lane], format)]
            const isRight = (result * scale - expected(x, y)) % n === 0n
            assert.ok(isRight && isWithin(result, limit * n, format), `${n}: ${x}, ${y}`)
          }
        }
        field.multiply('c', 'a', 'b')
        check('c', most.result, (a, b) => a * b, R)
        field.square('d', 'a')
        check('d', most.result, (a) => a * a, R)
        field.square('d', 'c')
        check('d', most.result, (a, b) => (a * b) ** 2n, R ** 3n)
        field.subtract('c', 'd', 'c')
        check('c', most.operand + 1n, (a, b) => (a * b) ** 2n - a * b * R ** 2n, R ** 3n)
        field.add('c', 'c', 'd')
        field.multiply('c', 'c', 'c')
        check('c', most.result, (a, b) => (2n * (a * b) ** 2n - a * b * R ** 2n) ** 2n, R ** 7n)
        for (const from of ['c', 'd'] as const) {
          field.canonical('b', from)
          for (const lane of [0, 1] as const) {
            const [n, canonical] = [pair[lane], get('b', lane)]
            assert.ok(canonical >= 0n && canonical < n)
            assert.equal((canonical - get(from, lane)) % n, 0n)
            assert.equal(toBigInt(field.getBytes('b', lane, bytes)), canonical)
          }
        }
      }
    }
  })
}

test('canonical numbers at the edges: around each multiple of the modulus', { skip: fused }, () => {
  for (const bits of [256, 521, 1024]) {
    const limbs = limbsFor(bits, UNSIGNED)
    const field = new Field(limbs, UNSIGNED)
    for (const n of oddModuli(bits, 3)) {
      const bytes = toBytes(n, Math.ceil(bits / 8))
      field.setModuli([bytes, bytes])
      for (const number of [0n, 1n, n - 1n, n, n + 1n, 2n * n - 1n, 2n * n, 2n * n + 1n, 3n * n - 1n]) {
        const a = toBytes(number, bytes.length + 1)
        field.putBytes('a', [a, a])
        field.canonical('b', 'a')
        assert.equal(toBigInt(field.getBytes('b', 1, bytes.length)), number % n)
      }
    }
  }
})

test('bytes become limbs and bytes again, at every length', () => {
  for (const format of [SIGNED, UNSIGNED]) {
    let limbs = 0
    let field!: Field // making one takes long: all lengths of so many limbs share it
    for (let length = 1; length <= 300; length++) {
      if (limbs !== limbsFor(8 * length, format)) {
        limbs = limbsFor(8 * length, format)
        field = new Field(limbs, format, undefined, 'exact')
      }
      const fill = (byte: number) => new Uint8Array(length).fill(byte)
      for (const bytes of [new Uint8Array(randomBytes(length)), fill(255), fill(0)]) {
        const other = new Uint8Array(randomBytes(length))
        field.putBytes('a', [bytes, other])
        assert.deepEqual(field.get('a', 0), toLimbs(toBigInt(bytes), limbs, format))
        assert.deepEqual(field.getBytes('a', 0, length), bytes)
        assert.deepEqual(field.getBytes('a', 1, length), other)
        assert.deepEqual(field.getBytes('a', 0, length + 1), Uint8Array.of(0, ...bytes))
      }
      const long = Uint8Array.of(...fill(0), ...fill(0), ...fill(0), ...fill(3))
      field.putBytes('a', [long, long])
      assert.deepEqual(field.getBytes('a', 1, length), fill(3))
    }
  }
})

test('nothing of a key stays in memory after a wipe', () => {
  const field = new Field(limbsFor(256, UNSIGNED), UNSIGNED)
  const odd = new Uint8Array(randomBytes(32)).fill(1, 31)
  field.setModuli([odd, odd])
  field.putBytes('a', [odd, odd])
  field.power('a', 'square', windowsOf([odd, odd]))
  assert.ok(field.secrets.some((byte) => byte !== 0))
  field.wipe()
  assert.ok(field.secrets.every((byte) => byte === 0))
})
