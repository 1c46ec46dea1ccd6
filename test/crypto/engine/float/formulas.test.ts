// @test long 30 slow
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { edwards } from '../../../../firmware/crypto/engine/float/edwards-code.ts'
import { SIGNED } from '../../../../firmware/crypto/engine/float/format.ts'
import {
  multiplyByMatrix,
  OPERAND_MAX,
  roundsFor,
  STEPS,
  stepsFor,
} from '../../../../firmware/crypto/engine/float/inverse-code.ts'
import type { Formulas, PointCode } from '../../../../firmware/crypto/engine/float/multiples-code.ts'
import { weierstrass } from '../../../../firmware/crypto/engine/float/weierstrass-code.ts'
import { Checker, number } from './checker.ts'
import { CURVES } from './noble-curves.ts'

const FORMULAS: Readonly<Record<string, Formulas>> = {
  'a = 0': weierstrass(0),
  'a = -3': weierstrass(-3),
  Edwards: edwards,
}

/** Executes the formulas on sizes, in units of the modulus, instead of numbers. */
for (const [name, formulas] of Object.entries(FORMULAS)) {
  for (const isEntry of [false, true]) {
    test(`${name}: no sum can outgrow its limbs when ${isEntry ? 'an entry' : 'a point'} is added`, () => {
      const sizes = new Map<string, number>()
      let [largest, operations] = [0, 0]
      const on =
        (result: (x: number, y: number) => number) =>
        (to: string, left: string, right: string): [] => {
          const size = result(sizes.get(left)!, sizes.get(right)!)
          assert.ok(Number.isFinite(size), `${to} of ${left} and ${right}`)
          largest = Math.max(largest, size)
          operations++
          sizes.set(to, size)
          return []
        }
      // B^limbs is 2^20 times the modulus and more: 15 bits for the formulas beyond the field's five
      const sum = on((x, y) => x + y)
      const code: PointCode<string> = {
        mul: on((x, y) => 0.75 + (x * y) / 2 ** 20),
        add: sum,
        sub: sum,
        copy: (to, from) => {
          sizes.set(to, sizes.get(from)!)
          return []
        },
      }
      const second = isEntry ? formulas.entry : formulas.point.map((name) => `${name}2`)
      for (const name of ['B', ...formulas.point, ...second]) sizes.set(name, isEntry ? 2 : 5)
      sizes.set('one', 1)
      for (let i = 0; i < 5; i++) {
        if (isEntry) formulas.addEntry(code)
        else formulas.addPoint(code)
      }
      if (isEntry) formulas.last(code)
      if (!isEntry) assert.ok(sizes.get('Z')! < OPERAND_MAX, `what is inverted is ${sizes.get('Z')} times the modulus`)
      for (const name of formulas.point) assert.ok(sizes.get(name)! <= 5, `${name} is ${sizes.get(name)}`)
      assert.ok(operations > 50)
      assert.ok(largest < 64, `${largest} times the modulus`)
    })
  }
}

test('division steps: no limb and no column can overflow, 5 to 12 limbs', () => {
  const limb = number(-(2n ** 50n) - 2n ** 12n, 2n ** 50n + 2n ** 12n)
  const last = number(-(2n ** 48n), 2n ** 48n)
  const entry = number(-(2n ** 51n), 2n ** 51n)
  const [X, Y, MATRIX, MODULUS, INVERSE] = [100, 200, 300, 400, 500]
  for (let limbs = 5; limbs <= 12; limbs++) {
    for (const products of ['fused', 'exact'] as const) {
      for (const isModular of [false, true]) {
        const m = new Checker(SIGNED, products)
        for (const at of [X, Y, MODULUS]) {
          for (let k = 0; k < limbs; k++) m.store(at, k, k === limbs - 1 ? last : limb)
        }
        for (let k = 0; k < 4; k++) m.store(MATRIX, k, entry)
        m.store(INVERSE, 0, limb)
        multiplyByMatrix(m, { limbs, modulus: MODULUS, inverse: INVERSE }, X, Y, MATRIX, isModular)
        for (const at of [X, Y]) {
          for (let k = 0; k < limbs; k++) {
            const { kind, low, high } = m.load(at, k)
            const bound = k === limbs - 1 ? last : limb
            assert.equal(kind, 'number')
            assert.ok(low >= bound.low && high <= bound.high, `limb ${k} of ${limbs} is between ${low} and ${high}`)
          }
        }
      }
    }
  }
})

test('division steps: what is inverted modulo grows by half a modulus in each round, which its limbs have room for', () => {
  for (const bits of [256, 384, 512, 521]) assert.ok(2 + roundsFor(bits) / 2 <= 32, `${bits} bits`)
})

test('division steps: there are enough for the largest operand of each curve', () => {
  for (const [type, { p, n }] of Object.entries(CURVES)) {
    const bits = Math.max(p.toString(2).length, n.toString(2).length)
    const operand = (p * BigInt(Math.ceil(OPERAND_MAX * 1000))) / 1000n
    // lane 0 inverts what comes of points modulo p, lane 1 a result of multiplication modulo n
    for (const [f, g] of [
      [p, operand],
      [n, n],
    ] as const) {
      let proven = 0
      while (f * f + 4n * g * g > 5n * 4n ** BigInt(proven)) proven++
      assert.ok(STEPS * roundsFor(bits) >= stepsFor(proven), `${type}: ${proven} bits`)
    }
  }
})
