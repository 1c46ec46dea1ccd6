/** RSA on the fast field: lane 0 works modulo p, lane 1 modulo q; for numbers modulo n both lanes do the same. */

import type { Pair, Residue, RsaArithmetic, RsaNumbers } from '../engine.ts'
import { bitLength, Field, limbsFor } from './field.ts'
import { RADIX } from './machine.ts'

const ONE = Uint8Array.of(1)

export function openFastRsa(numbers: RsaNumbers): RsaArithmetic {
  const field = fieldOf(limbsFor(bitLength(numbers.n)))
  const halves = fieldOf(limbsFor(Math.max(bitLength(numbers.p), bitLength(numbers.q))))
  const bytes = numbers.n.length
  const exponents: Pair<Uint8Array> = [numbers.dp.slice(), numbers.dq.slice()]
  const kept: Float64Array[] = []
  const keep = (limbs: Float64Array): Float64Array => {
    kept.push(limbs)
    return limbs
  }

  halves.setModuli([numbers.p, numbers.q])
  const halvesState = keep(halves.state())
  // enters base B^field.limbs, which reduction divides by B^halves.limbs: times this it is base B^halves.limbs
  halves.powerOfTwo('a', Number(RADIX) * (2 * halves.limbs - field.limbs))
  const entry: Pair<Float64Array> = [keep(halves.get('a', 0)), keep(halves.get('a', 1))]
  halves.wipe()

  field.setModuli([numbers.n, numbers.n])
  const state = keep(field.state())
  // base^d = x e + y (1 - e) modulo n, where x, y are its halves and e = q (1/q mod p)
  field.putBytes('a', [numbers.q, numbers.q])
  field.putBytes('b', [numbers.qinv, numbers.qinv])
  field.multiply('a', 'a', 'square')
  field.multiply('a', 'a', 'b')
  field.multiply('a', 'a', 'square')
  field.multiply('a', 'a', 'square')
  field.subtract('b', 'square', 'a')
  const joiners: Pair<Float64Array> = [keep(field.get('a', 0)), keep(field.get('b', 0))]
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
  const put = (slot: 'a' | 'b', residue: Residue): void => {
    const limbs = residueLimbs(residue)
    field.put(slot, [limbs, limbs])
  }
  /** Takes a number apart, works on slot a modulo p and q, and joins the results: x e + y (1 - e). */
  const inHalves = (base: Residue, work: () => void): Residue => {
    halves.restore(halvesState)
    try {
      halves.reduce('a', residueLimbs(base))
      halves.put('b', entry)
      halves.multiply('a', 'a', 'b')
      work()
      halves.putBytes('b', [ONE, ONE])
      halves.multiply('a', 'a', 'b')
      field.put('a', [halves.get('a', 0), halves.get('a', 1)])
    } finally {
      halves.wipe()
    }
    field.put('b', joiners)
    field.multiply('a', 'a', 'b')
    const other = field.get('a', 1)
    field.put('b', [other, other])
    field.add('a', 'a', 'b')
    return residue()
  }
  const residue = (): Residue => new Uint8Array(field.get('a', 0).buffer)

  return {
    enter: (number) =>
      use(() => {
        field.putBytes('a', [number, number])
        field.multiply('a', 'a', 'square')
        return residue()
      }),
    leave: (number) =>
      use(() => {
        put('a', number)
        field.putBytes('b', [ONE, ONE])
        field.multiply('a', 'a', 'b')
        field.canonical('a', 'a')
        return field.getBytes('a', 0, bytes)
      }),
    multiply: (a, b) =>
      use(() => {
        put('a', a)
        if (a !== b) put('b', b)
        if (a === b) field.square('a', 'a')
        else field.multiply('a', 'a', 'b')
        return residue()
      }),
    // a result that is right modulo p and modulo q is right modulo n, and the halves are cheaper than the whole
    publicPower: (base, publicExponent) =>
      use(() =>
        inHalves(base, () => {
          halves.copy('b', 'a')
          const bits = [...publicExponent].map((byte) => byte.toString(2).padStart(8, '0')).join('')
          for (const bit of bits.replace(/^0*1/, '')) {
            halves.square('a', 'a')
            if (bit === '1') halves.multiply('a', 'a', 'b')
          }
        }),
      ),
    privatePower: (base) => use(() => inHalves(base, () => halves.power('a', 'a', exponents))),
    wipe: () => {
      isOpen = false
      for (const limbs of kept) limbs.fill(0)
      for (const exponent of exponents) exponent.fill(0)
    },
  }
}

export function fastPowers(
  moduli: Pair<Uint8Array>,
  bases: Pair<Uint8Array>,
  exponents: Pair<Uint8Array>,
): Pair<Uint8Array> {
  const field = fieldOf(limbsFor(Math.max(...moduli.map(bitLength))))
  try {
    field.setModuli(moduli)
    field.putBytes('a', bases)
    field.multiply('a', 'a', 'square')
    field.power('a', 'a', exponents)
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
  const field = fields.get(limbs) ?? new Field(limbs)
  fields.set(limbs, field)
  return field
}

function residueLimbs(residue: Residue): Float64Array {
  return new Float64Array(residue.buffer, residue.byteOffset, residue.byteLength / 8)
}
