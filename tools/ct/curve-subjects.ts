/** Subjects of the timing test on elliptic curves: keys, nonces and scalars of two classes. */

import { randomBytes } from 'node:crypto'
import { p256 } from '@noble/curves/nist.js'
import { CURVES } from '../../firmware/crypto/algorithms.ts'
import { generateCurveKey, openCurveKey } from '../../firmware/crypto/ec/private-key.ts'
import { basePoint } from '../../firmware/crypto/engine/float/curves.ts'
import { EXTRA_BYTES, randomScalar, signWithNonce } from '../../firmware/crypto/engine/float/ecdsa.ts'
import type { Products } from '../../firmware/crypto/engine/float/emitter.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import type { CurveKeyType, EcKeyType, SignMode } from '../../firmware/crypto/types.ts'
import { copies, pool, randomNumber, smallNumber, sparseNumber } from './inputs.ts'
import { preparedSubject, type Subject, subject } from './subject.ts'

const EC_TYPES = Object.keys(CURVES) as EcKeyType[]

export function curveSubjects(products: Products): Subject[] {
  const base = basePoint('EC_P256', products)
  const scalars = () => pool(() => randomScalar(base, systemRandom))
  const multiply = (scalar: Uint8Array) => base.use(() => base.multiply(scalar))
  const shortScalars = pool(() => randomNumber(SHORT_BYTES))
  return [
    subject('control: random scalars in both classes', [scalars(), scalars()], multiply),
    {
      ...subject('control: double and add, leaks', [copies(sparseNumber(SHORT_BYTES)), shortScalars], doubleAndAdd),
      leaks: true,
    },
    ...EC_TYPES.flatMap((type) => [...scalar(type, products), ...keys(type, 'ECDSA', products), nonce(type, products)]),
    ...scalar('Curve25519', products),
    ...keys('Curve25519', 'EdDSA', products),
    ...keys('EC_P256K1', 'BIP340', products),
  ]
}

/** Length of scalars for double-and-add, which is a hundred times slower than the other subjects. */
const SHORT_BYTES = 4

/** Leaks on purpose: never use it with a secret. */
function doubleAndAdd(scalar: Uint8Array): void {
  let sum = p256.Point.ZERO
  for (const byte of scalar) {
    for (let bit = 7; bit >= 0; bit--) {
      sum = sum.double()
      if ((byte >> bit) & 1) sum = sum.add(p256.Point.BASE)
    }
  }
}

function scalar(type: CurveKeyType, products: Products): Subject[] {
  const base = basePoint(type, products)
  const one = smallNumber(1, base.bytes)
  const random = () => pool(() => randomScalar(base, systemRandom))
  const multiply = (scalar: Uint8Array) => base.use(() => base.multiply(scalar))
  const lessOne = base.use(() => base.negate(one))
  return [
    subject(`${type}, multiple: 1 / random`, [copies(one), random()], multiply),
    subject(`${type}, multiple: order less 1 / random`, [copies(lessOne), random()], multiply),
  ]
}

function keys(type: CurveKeyType, mode: SignMode, products: Products): Subject[] {
  const newKey = () => generateCurveKey(type, systemRandom, products).private
  const fixed = newKey()
  const small = smallNumber(1, fixed.length)
  const message = new Uint8Array(randomBytes(type === 'Curve25519' ? 100 : CURVES[type].digestBytes))
  const open = (secret: Uint8Array) => openCurveKey(type, secret, systemRandom, products)
  const sign = (key: ReturnType<typeof open>) => key.sign(mode, message)
  return [
    preparedSubject(`${type}, ${mode}: one key / many`, [copies(fixed), pool(newKey)], open, sign),
    preparedSubject(`${type}, ${mode}: key 1 / random`, [copies(small), pool(newKey)], open, sign),
  ]
}

function nonce(type: EcKeyType, products: Products): Subject {
  const base = basePoint(type, products)
  const secret = randomScalar(base, systemRandom)
  const digest = new Uint8Array(randomBytes(CURVES[type].digestBytes))
  const length = base.bytes + EXTRA_BYTES
  const random = pool(() => new Uint8Array(randomBytes(length)))
  return subject(`${type}, ECDSA: nonce 1 / random`, [copies(smallNumber(1, length)), random], (nonce) =>
    signWithNonce(base, digest, secret, nonce),
  )
}
