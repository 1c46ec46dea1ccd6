import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { normalizeZ } from '@noble/curves/abstract/curve.js'
import type { ECDSA } from '@noble/curves/abstract/weierstrass.js'
import { brainpoolP256r1, brainpoolP384r1, brainpoolP512r1 } from '@noble/curves/misc.js'
import { p256, p384, p521 } from '@noble/curves/nist.js'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { type FieldCode, layOut } from '../../../firmware/crypto/engine/fast/field-code.ts'
import { whyNotFused } from '../../../firmware/crypto/engine/fast/probe.ts'
import { FastCurve } from '../../../firmware/crypto/engine/fast/weierstrass.ts'
import { type PointSlot, pointExtension, pointLayout } from '../../../firmware/crypto/engine/fast/weierstrass-code.ts'
import type { Callee, Operand } from '../../../firmware/crypto/engine/wasm.ts'
import { toBigInt, toBytes } from '../../crypto/rsa-keys.ts'
import { inverseOf, operand } from '../differential.ts'

const CURVES: Readonly<Record<string, ECDSA>> = {
  'P-256': p256,
  'P-384': p384,
  'P-521': p521,
  secp256k1,
  brainpoolP256r1,
  brainpoolP384r1,
  brainpoolP512r1,
}
const OPERATIONS = process.env.COFFER_SLOW === undefined ? 1000 : 50_000 // of each of the two kinds
const skip = whyNotFused() ?? false

function openCurve({ Point }: ECDSA): FastCurve {
  return new FastCurve(Point.CURVE(), (windows, step, entries) => {
    const points: InstanceType<typeof Point>[] = []
    for (let base = Point.BASE, window = 0; window < windows; window++, base = base.multiplyUnsafe(step)) {
      const twice = base.double()
      for (let entry = 0, point = base; entry < entries; entry++, point = point.add(twice)) points.push(point)
    }
    return normalizeZ(Point, points).map((point) => point.toAffine())
  })
}

for (const [name, noble] of Object.entries(CURVES)) {
  const { n } = noble.Point.CURVE()
  const bytes = Math.ceil(n.toString(2).length / 8)
  /** From 1 to n - 1, with runs of zeros and ones often. */
  const scalar = (): bigint => ((operand(n - 1n) + n - 1n) % (n - 1n)) + 1n

  test(`${name}: multiples of the generator agree with noble, at the edges too`, { skip }, () => {
    const curve = openCurve(noble)
    const edges = [1n, 2n, 3n, 31n, 32n, n - 1n, n - 2n, n >> 1n, (n >> 1n) + 1n, (1n << 130n) - 1n, 1n << 130n]
    for (let i = 0; i < OPERATIONS; i++) {
      const k = edges[i] ?? scalar()
      const [x, y] = curve.multiply(toBytes(k, bytes))
      const expected = noble.Point.BASE.multiply(k).toAffine()
      assert.deepEqual([toBigInt(x), toBigInt(y)], [expected.x, expected.y], `${k} G`)
    }
  })

  test(`${name}: signatures are those of BigInt for the same nonce`, { skip }, () => {
    const curve = openCurve(noble)
    for (let i = 0; i < OPERATIONS; i++) {
      const [secret, k] = [scalar(), scalar()]
      const nonce =
        i % 2 === 0 ? toBytes(k + n * operand(1n << 64n), bytes + 16) : new Uint8Array(randomBytes(bytes + 16))
      const digest = operand(1n << BigInt(n.toString(2).length))
      const signature = curve.sign(toBytes(digest, bytes), toBytes(secret, bytes), nonce)
      const reduced = toBigInt(nonce) % n
      const r = noble.Point.BASE.multiply(reduced).toAffine().x % n
      const s = (inverseOf(reduced, n)! * (digest + r * secret)) % n
      assert.deepEqual(signature?.map(toBigInt), [r, s], `digest ${digest}, secret ${secret}, nonce ${reduced}`)
    }
  })
}

/** Executes the formulas on sizes, in units of the modulus, instead of numbers. */
for (const a of [0, -3] as const) {
  test(`a = ${a}: no sum in the formula of addition can outgrow its limbs`, () => {
    const layout = layOut(6)
    const { at } = pointLayout(layout)
    const sizes = new Map<Operand, number>()
    const place = (name: PointSlot): number => at[name] * 16
    let largest = 0
    const on =
      (result: (x: number, y: number) => number): Callee =>
      (to, left, right) => {
        const size = result(sizes.get(left!)!, sizes.get(right!)!)
        assert.ok(Number.isFinite(size))
        largest = Math.max(largest, size)
        sizes.set(to!, size)
        return []
      }
    // B^limbs is 2^20 times the modulus and more: 15 bits for the formulas beyond the field's five
    const sum = on((x, y) => x + y)
    const code = { multiply: on((x, y) => 0.75 + (x * y) / 2 ** 20), add: sum, subtract: sum, limbs: 6 }
    let additions = 0
    const module = {
      define: (name: string, _parameters: unknown, _results: unknown, body: () => unknown): Callee => {
        if (name === 'addPoint' || name === 'addAffine') {
          for (const slot of ['X', 'Y', 'Z', 'X2', 'Y2', 'Z2', 'B', 't2'] as const) sizes.set(place(slot), 2) // t2 is a copy of Z
          for (let i = 0; i < 5; i++, additions++) {
            body()
            for (const [to, from] of [
              ['X2', 'X'],
              ['Y2', 'Y'],
              ['Z2', 'Z'],
            ] as const)
              sizes.set(place(to), sizes.get(place(from))!)
          }
        }
        return () => []
      },
    }
    pointExtension(6, 26, a).define({ ...code, module } as unknown as FieldCode, layout)
    assert.equal(additions, 10)
    assert.ok(largest < 64, `${largest} times the modulus`)
    for (const slot of ['X', 'Y', 'Z'] as const) assert.ok(sizes.get(place(slot))! < 2)
  })
}
