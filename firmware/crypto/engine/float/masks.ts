/** Constant-time selection of secret bytes. */

import { transientSecret } from '../../../base/secret.ts'

/** Returns a copy of a if `first` is 1, of b if it is 0. The result is transient. */
export function select(first: number, a: Uint8Array, b: Uint8Array): Uint8Array {
  const result = transientSecret(b.length)
  for (let i = 0; i < b.length; i++) result[i] = b[i]! ^ ((b[i]! ^ a[i]!) & -first)
  return result
}

export function isZero(bytes: Uint8Array): boolean {
  let bits = 0
  for (const byte of bytes) bits |= byte
  return bits === 0
}
