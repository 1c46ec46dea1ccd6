/** RSA on the fast field: lane 0 computes modulo p, lane 1 modulo q. A residue has both lanes in the memory's form. */

import { wipe } from '../../../base/secret.ts'
import type { Pair, Residue, RsaArithmetic, RsaNumbers } from '../engine.ts'
import { bitLength, Field, limbsFor, windowsOf } from './field.ts'
import { UNSIGNED } from './format.ts'

const ONE = Uint8Array.of(1)

/** The key whose numbers are in the memory of its field. */
let current: RsaArithmetic | undefined

export function openFastRsa({ n, p, q, dp, dq, qinv }: RsaNumbers): RsaArithmetic {
  const field = fieldOf(limbsFor(Math.max(bitLength(p), bitLength(q)), UNSIGNED))
  field.setModuli([p, q])
  const state = field.state()
  const inBothLanes = (number: Uint8Array): Float64Array => {
    field.putBytes('a', [number, number])
    return field.take('a')
  }
  const [unit, qLanes, qinvLanes] = [inBothLanes(ONE), inBothLanes(q), inBothLanes(qinv)]
  field.square('a', 'square')
  const cube = field.take('a')
  field.wipe()
  const windows = windowsOf([dp, dq])
  const secrets = [state, qLanes, qinvLanes, cube, windows]
  let isOpen = true

  const residue = (): Residue => new Uint8Array(field.take('a').buffer)
  const place = (slot: 'a' | 'b', { buffer, byteOffset }: Residue): void => {
    if (current !== arithmetic) throw new Error('The key is not in use')
    field.place(slot, new Float64Array(buffer, byteOffset, 2 * field.limbs))
  }

  const arithmetic: RsaArithmetic = {
    use: (work) => {
      if (!isOpen) throw new Error('The key is no longer open')
      if (current !== undefined) throw new Error('Another key is in use')
      current = arithmetic
      field.restore(state)
      try {
        return work()
      } finally {
        field.wipe()
        current = undefined
      }
    },
    enter: (number) => {
      if (current !== arithmetic) throw new Error('The key is not in use')
      field.reduce('a', number)
      field.place('b', cube) // `reduce` has divided by B^limbs
      field.multiply('a', 'a', 'b')
      return residue()
    },
    // Garner: x modulo p and y modulo q give y + q ((x - y) / q modulo p)
    leave: (number) => {
      place('a', number)
      field.place('b', unit)
      field.multiply('b', 'a', 'b')
      field.canonical('b', 'b')
      field.spread('c', 'b', 1)
      field.multiply('b', 'c', 'square')
      field.subtract('a', 'a', 'b')
      field.place('b', qinvLanes)
      field.multiply('a', 'a', 'b')
      field.canonical('a', 'a')
      field.place('b', qLanes)
      return field.product('a', 'b', 'c', 0, n.length)
    },
    multiply: (a, b) => {
      place('a', a)
      if (a === b) field.square('a', 'a')
      else {
        place('b', b)
        field.multiply('a', 'a', 'b')
      }
      return residue()
    },
    publicPower: (base, publicExponent) => {
      place('a', base)
      field.copy('b', 'a')
      for (let bit = bitLength(publicExponent) - 2; bit >= 0; bit--) {
        field.square('a', 'a')
        const byte = publicExponent[publicExponent.length - 1 - (bit >> 3)]!
        if ((byte >> (bit & 7)) & 1) field.multiply('a', 'a', 'b')
      }
      return residue()
    },
    privatePower: (base) => {
      place('a', base)
      field.power('a', 'a', windows)
      return residue()
    },
    isSame: (a, b) => {
      place('a', a)
      place('b', b)
      field.subtract('a', 'a', 'b')
      field.place('b', unit)
      field.multiply('a', 'a', 'b')
      field.canonical('a', 'a')
      return field.isZero('a')
    },
    wipe: () => {
      isOpen = false
      wipe(...secrets)
    },
  }
  return arithmetic
}

export function fastPowers(
  moduli: Pair<Uint8Array>,
  bases: Pair<Uint8Array> | 2,
  exponents: Pair<Uint8Array>,
): Pair<Uint8Array> {
  const field = fieldOf(limbsFor(Math.max(...moduli.map(bitLength)), UNSIGNED))
  const windows = windowsOf(exponents)
  try {
    field.setModuli(moduli)
    if (bases === 2) field.twoToThe('a', windows)
    else {
      field.putBytes('a', bases)
      field.multiply('a', 'a', 'square')
      field.power('a', 'a', windows)
    }
    field.putBytes('b', [ONE, ONE])
    field.multiply('a', 'a', 'b')
    field.canonical('a', 'a')
    return [field.getBytes('a', 0, moduli[0].length), field.getBytes('a', 1, moduli[1].length)]
  } finally {
    field.wipe()
    wipe(windows)
  }
}

const fields = new Map<number, Field>()

/** Field for numbers of so many limbs, compiled at first use. Only one key at a time may use its memory. */
function fieldOf(limbs: number): Field {
  if (current !== undefined) throw new Error('Another key is in use')
  const field = fields.get(limbs) ?? new Field(limbs, UNSIGNED)
  fields.set(limbs, field)
  return field
}
