/** RSA on the fast field: lane 0 works modulo p, lane 1 modulo q. A residue is both, as they lie in memory. */

import type { Pair, RsaArithmetic, RsaNumbers } from '../engine.ts'
import { bitLength, Field, limbsFor } from './field.ts'
import { UNSIGNED } from './format.ts'
import { bytesToLimbs, limbsToBytes } from './limbs.ts'

const ONE = Uint8Array.of(1)

export function openFastRsa({ n, p, q, dp, dq, qinv }: RsaNumbers): RsaArithmetic {
  const field = fieldOf(limbsFor(Math.max(bitLength(p), bitLength(q)), UNSIGNED))
  const bytes = n.length
  const exponents: Pair<Uint8Array> = [dp.slice(), dq.slice()]
  const toLimbs = (number: Uint8Array): Float64Array => bytesToLimbs(number, field.limbs, UNSIGNED)
  const [oneLimbs, qLimbs, qinvLimbs] = [toLimbs(ONE), toLimbs(q), toLimbs(qinv)]
  field.setModuli([p, q])
  const state = field.state()
  field.wipe()

  let isOpen = true
  const use = <T>(work: () => T): T => {
    if (!isOpen) throw new Error('The key is no longer open')
    field.restore(state)
    try {
      return work()
    } finally {
      field.wipe()
    }
  }

  return {
    enter: (number) =>
      use(() => {
        field.reduce('a', bytesToLimbs(number, 2 * field.limbs, UNSIGNED))
        // that has divided by B^limbs
        field.square('b', 'square')
        field.multiply('a', 'a', 'b')
        return field.take('a')
      }),
    // Garner: with x modulo p and y modulo q it is y + q ((x - y) / q modulo p)
    leave: (residue) =>
      use(() => {
        field.place('a', residue)
        field.put('b', [oneLimbs, oneLimbs])
        field.multiply('b', 'a', 'b')
        field.canonical('b', 'b')
        const y = field.get('b', 1)
        field.put('b', [y, y])
        field.multiply('b', 'b', 'square')
        field.subtract('a', 'a', 'b')
        field.put('b', [qinvLimbs, qinvLimbs])
        field.multiply('a', 'a', 'b')
        field.canonical('a', 'a')
        field.put('b', [qLimbs, qLimbs])
        const sum = field.product('a', 'b', 0)
        for (let k = 0; k < y.length; k++) sum[k]! += y[k]!
        try {
          return limbsToBytes(sum, bytes, UNSIGNED)
        } finally {
          y.fill(0)
          sum.fill(0)
        }
      }),
    multiply: (a, b) =>
      use(() => {
        field.place('a', a)
        if (a === b) field.square('a', 'a')
        else {
          field.place('b', b)
          field.multiply('a', 'a', 'b')
        }
        return field.take('a')
      }),
    publicPower: (base, publicExponent) =>
      use(() => {
        field.place('a', base)
        field.place('b', base)
        for (let bit = bitLength(publicExponent) - 2; bit >= 0; bit--) {
          field.square('a', 'a')
          const byte = publicExponent[publicExponent.length - 1 - (bit >> 3)]!
          if ((byte >> (bit & 7)) & 1) field.multiply('a', 'a', 'b')
        }
        return field.take('a')
      }),
    privatePower: (base) =>
      use(() => {
        field.place('a', base)
        field.power('a', 'a', exponents)
        return field.take('a')
      }),
    isSame: (a, b) =>
      use(() => {
        field.place('a', a)
        field.place('b', b)
        field.subtract('a', 'a', 'b')
        field.put('b', [oneLimbs, oneLimbs])
        field.multiply('a', 'a', 'b')
        field.canonical('a', 'a')
        return field.get('a', 0).every((limb) => limb === 0) && field.get('a', 1).every((limb) => limb === 0)
      }),
    wipe: () => {
      isOpen = false
      for (const secret of [state, qLimbs, qinvLimbs, ...exponents]) secret.fill(0)
    },
  }
}

export function fastPowers(
  moduli: Pair<Uint8Array>,
  bases: Pair<Uint8Array> | 2,
  exponents: Pair<Uint8Array>,
): Pair<Uint8Array> {
  const field = fieldOf(limbsFor(Math.max(...moduli.map(bitLength)), UNSIGNED))
  try {
    field.setModuli(moduli)
    if (bases === 2) field.twoToThe('a', exponents)
    else {
      field.putBytes('a', bases)
      field.multiply('a', 'a', 'square')
      field.power('a', 'a', exponents)
    }
    field.putBytes('b', [ONE, ONE])
    field.multiply('a', 'a', 'b')
    field.canonical('a', 'a')
    return [field.getBytes('a', 0, moduli[0].length), field.getBytes('a', 1, moduli[1].length)]
  } finally {
    field.wipe()
  }
}

const fields = new Map<number, Field>()

/** Numbers of so many limbs; emitted and compiled at the first use. */
function fieldOf(limbs: number): Field {
  const field = fields.get(limbs) ?? new Field(limbs, UNSIGNED)
  fields.set(limbs, field)
  return field
}
