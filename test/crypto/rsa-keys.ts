/** RSA keys for tests, made by OpenSSL, and numbers between bytes and BigInt: nothing here is secret. */

import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { RsaPrivateKey } from '../../firmware/crypto/rsa/encoding.ts'

export interface TestKey {
  key: RsaPrivateKey
  privateKey: KeyObject
  publicKey: KeyObject
}

export function opensslKey(bits: number, publicExponent = 65537): TestKey {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: bits, publicExponent })
  return { key: numbersOf(privateKey), privateKey, publicKey }
}

export function numbersOf(privateKey: KeyObject): RsaPrivateKey {
  const jwk = privateKey.export({ format: 'jwk' })
  const number = (text: string | undefined) => new Uint8Array(Buffer.from(text!, 'base64url'))
  const [p, q] = [number(jwk.p), number(jwk.q)]
  return {
    n: number(jwk.n),
    e: number(jwk.e),
    p,
    q,
    dp: padded(number(jwk.dp), p.length),
    dq: padded(number(jwk.dq), q.length),
    qinv: padded(number(jwk.qi), p.length),
  }
}

export const numbersOfPkcs8 = (hex: string): RsaPrivateKey =>
  numbersOf(createPrivateKey({ key: Buffer.from(hex, 'hex'), format: 'der', type: 'pkcs8' }))

export const toBigInt = (bytes: Uint8Array): bigint => BigInt(`0x0${Buffer.from(bytes).toString('hex')}`)

export function toBytes(value: bigint, length: number): Uint8Array {
  return new Uint8Array(Buffer.from(value.toString(16).padStart(2 * length, '0'), 'hex'))
}

export function powerOf(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let [result, square] = [1n % modulus, base % modulus]
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % modulus
    square = (square * square) % modulus
  }
  return result
}

function padded(number: Uint8Array, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  bytes.set(number, length - number.length)
  return bytes
}
