// @test short slow
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lattice } from '../../../../firmware/crypto/engine/ml-dsa/lattice.ts'
import { N, PARAMETERS, Q } from '../../../../firmware/crypto/engine/ml-dsa/parameters.ts'

/** FIPS 204, algorithm 36. */
function decompose(r: number, gamma2: number): [high: number, low: number] {
  const rest = r % (2 * gamma2)
  const low = rest > gamma2 ? rest - 2 * gamma2 : rest
  return r - low === Q - 1 ? [0, low - 1] : [(r - low) / (2 * gamma2), low]
}

for (const set of ['ML_DSA_44', 'ML_DSA_65'] as const) {
  test(`${set}: every number modulo q is rounded as by division, be it negative or not`, () => {
    const lattice = new Lattice(PARAMETERS[set], 'exact')
    const { at, code, doubles, integers, parameters } = lattice
    const bits = parameters.highBits
    for (let first = 0; first < Q; first += N) {
      for (let n = 0; n < N; n++) {
        const number = Math.min(first + n, Q - 1)
        doubles[at.scratch / 8 + n] = number > Q / 2 && n % 2 === 0 ? number - Q : number
      }
      code.decompose(at.scratch, at.low, at.high, at.commitment)
      for (let n = 0; n < N; n++) {
        const number = Math.min(first + n, Q - 1)
        const [high, low] = decompose(number, parameters.gamma2)
        if (integers[at.high / 4 + n] !== high || integers[at.low / 4 + n] !== low) assert.fail(`${number}`)
        const [place, shift] = [at.commitment + ((n * bits) >> 3), (n * bits) & 7]
        const packed = ((lattice.bytes[place]! | (lattice.bytes[place + 1]! << 8)) >> shift) & (2 ** bits - 1)
        if (packed !== high) assert.fail(`${number}, packed`)
      }
    }
  })
}
