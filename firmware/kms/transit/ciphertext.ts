/** Ciphertexts, MACs and signatures as texts with a version: `vault:v1:` and base64. */

import { readBase64 } from '../../base/base64.ts'
import { defined } from '../../base/defined.ts'
import { invalid } from './answers.ts'

const PREFIX = 'vault:v'
const LATEST = 1

/** `text` is base64. */
export const versioned = (text: string): string => `${PREFIX}${LATEST}:${text}`

/** The base64 behind the version. `what` is the noun in errors. */
export function payloadOf(value: string, what: 'ciphertext' | 'signature' | 'HMAC'): string {
  if (!value.startsWith(PREFIX)) throw invalid(`invalid ${what}: no prefix`)
  const [version = '', ...rest] = value.slice(PREFIX.length).split(':')
  if (rest.length !== 1) throw invalid(`invalid ${what}: wrong number of fields`)
  if (!/^\d{1,9}$/.test(version)) throw invalid(`invalid ${what}: version number could not be decoded`)
  if (Number(version) > LATEST) throw invalid(`invalid ${what}: version is too new`)
  return defined(rest[0])
}

export function bytesOf(value: string, what: 'ciphertext' | 'signature' | 'HMAC'): Uint8Array {
  const bytes = readBase64(payloadOf(value, what))
  if (bytes === null) throw invalid(`invalid ${what}: could not decode base64`)
  return bytes
}
