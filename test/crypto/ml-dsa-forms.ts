/** PKCS#8 of one new ML-DSA key in the three forms of RFC 9881, as OpenSSL and others write them. */

import { randomBytes } from 'node:crypto'
import { ML_DSA_OIDS } from '../../firmware/crypto/algorithms.ts'
import type { MlDsaSet } from '../../firmware/crypto/engine/ml-dsa/parameters.ts'
import { expandedMlDsa } from '../../firmware/crypto/ml-dsa/private-key.ts'

export function der(tag: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const content = Buffer.concat(parts)
  const { length } = content
  const lengthBytes = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return new Uint8Array(Buffer.concat([Uint8Array.of(tag, ...lengthBytes), content]))
}

/** The last number of the OID is all that differs. */
export const mlDsaAlgorithm = (set: MlDsaSet): Uint8Array =>
  der(0x06, Buffer.from([0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, Number(ML_DSA_OIDS[set].split('.').at(-1))]))

export const pkcs8 = (set: MlDsaSet, privateKey: Uint8Array): Uint8Array =>
  der(0x30, der(0x02, Uint8Array.of(0)), der(0x30, mlDsaAlgorithm(set)), der(0x04, privateKey))

export const seedForm = (seed: Uint8Array): Uint8Array => der(0x80, seed)
export const expandedForm = (expanded: Uint8Array): Uint8Array => der(0x04, expanded)
export const bothForm = (seed: Uint8Array, expanded: Uint8Array): Uint8Array =>
  der(0x30, der(0x04, seed), der(0x04, expanded))

export function mlDsaForms(set: MlDsaSet): [seed: Uint8Array, expanded: Uint8Array, both: Uint8Array] {
  const seed = new Uint8Array(randomBytes(32))
  const expanded = expandedMlDsa(set, seed)
  return [pkcs8(set, seedForm(seed)), pkcs8(set, expandedForm(expanded)), pkcs8(set, bothForm(seed, expanded))]
}
