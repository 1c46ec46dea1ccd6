// @test short slow
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ML_DSA_SETS, PARAMETERS, Q } from '../../../../firmware/crypto/engine/ml-dsa/parameters.ts'
import {
  forward,
  INTEGER_LIMBS,
  inverse,
  POLYNOMIAL_LIMBS,
  row,
  TABLES_LIMBS,
  transformTables,
} from '../../../../firmware/crypto/engine/ml-dsa/transform-code.ts'
import { type Interval, number } from '../float/checker.ts'
import { PolynomialChecker, SHARE, size } from './polynomial-checker.ts'

/** Where polynomials lie, in limbs; vectors have room for eight. */
const [TABLES, VECTOR, TRANSFORMED, MATRIX, CHALLENGE, KEY, RESULT, SCRATCH] = [
  ...Array.from({ length: 8 }, (_, i) => i * 10_000),
] as [number, number, number, number, number, number, number, number]

function checker<C extends PolynomialChecker>(machine: C): C {
  const tables = transformTables()
  for (let limb = 0; limb < TABLES_LIMBS; limb += 2) {
    const [a, b] = [BigInt(tables[2 * limb]!), BigInt(tables[2 * limb + 1]!)]
    machine.store(TABLES, limb, number(a < b ? a : b, a < b ? b : a))
    machine.store(TABLES, limb + 1, SHARE)
  }
  return machine
}

function put(machine: PolynomialChecker, at: number, limbs: number, value: Interval): void {
  for (let limb = 0; limb < limbs; limb++) machine.store(at, limb, value)
}

const largestOf = (machine: PolynomialChecker, at: number): bigint =>
  Array.from({ length: POLYNOMIAL_LIMBS }, (_, limb) => size(machine.load(at, limb))).reduce((a, b) => (a > b ? a : b))

const around = (most: number): Interval => number(-BigInt(most), BigInt(most))

/** Results of an inverse transform may be this large, and rounding takes numbers below q. */
const REDUCED = BigInt(Q >> 1) + 2n

for (const products of ['fused', 'exact'] as const) {
  for (const set of ML_DSA_SETS) {
    const { columns, eta, gamma1Bits } = PARAMETERS[set]
    const gamma1 = 2 ** gamma1Bits
    const limits = { y: around(gamma1), s: around(eta), t0: around(2 ** 12), t1: number(-1023n * 2n ** 13n, 0n) }

    const transform = (machine: PolynomialChecker, to: number, value: Interval): void => {
      put(machine, SCRATCH, POLYNOMIAL_LIMBS, value)
      forward(machine, to, SCRATCH, TABLES)
    }

    test(`${set}, ${products}: no product or sum passes 2^53, and every narrowing is exact`, () => {
      const machine = checker(new PolynomialChecker(products))
      put(machine, MATRIX, columns * INTEGER_LIMBS, number(0n, BigInt(Q - 1)))
      transform(machine, CHALLENGE, around(1))
      // what verification has behind them
      transform(machine, TRANSFORMED + columns * POLYNOMIAL_LIMBS, around(1))
      transform(machine, KEY, limits.t1)
      machine.narrow(MATRIX + columns * INTEGER_LIMBS, KEY)
      for (const elements of [limits.y, limits.s]) {
        for (let j = 0; j < columns; j++) transform(machine, TRANSFORMED + j * POLYNOMIAL_LIMBS, elements)
        for (const products of [columns, columns + 1]) {
          row(machine, products, RESULT, MATRIX, TRANSFORMED, TABLES)
          inverse(machine, RESULT, TABLES)
          assert.ok(largestOf(machine, RESULT) <= REDUCED)
        }
      }
      for (const part of [limits.s, limits.t0]) {
        transform(machine, VECTOR, part)
        machine.narrow(KEY, VECTOR)
        row(machine, 1, RESULT, KEY, CHALLENGE, TABLES)
        inverse(machine, RESULT, TABLES)
        assert.ok(largestOf(machine, RESULT) <= REDUCED)
      }
      // z, before its norm is known
      put(machine, RESULT, POLYNOMIAL_LIMBS, around(gamma1 + Number(REDUCED)))
      machine.narrow(KEY, RESULT)
      assert.ok(machine.largest > 2n ** 51n, 'little of what there is was in use: is this what runs?')
    })

    test(`${set}, ${products}: without the last reduction of a row the proof fails`, () => {
      class Unreduced extends PolynomialChecker {
        override modular(a: Interval, factor: Interval, share: Interval): Interval {
          return factor.low === 1n && factor.high === 1n ? a : super.modular(a, factor, share)
        }
      }
      const machine = checker(new Unreduced(products))
      put(machine, MATRIX, columns * INTEGER_LIMBS, number(0n, BigInt(Q - 1)))
      for (let j = 0; j < columns; j++) transform(machine, TRANSFORMED + j * POLYNOMIAL_LIMBS, limits.y)
      row(machine, columns, RESULT, MATRIX, TRANSFORMED, TABLES)
      assert.throws(() => inverse(machine, RESULT, TABLES), RangeError)
    })
  }
}
