/** Base64 as the contract (1.1) has it: RFC 4648 section 4 with padding, unused bits of the last character ignored. */

import { CofferError } from './error.ts'
import { newSecret } from './secret.ts'

/** The runtime's decoder skips foreign characters and takes those of base64url. */
export const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** The decoded bytes, in memory of their own, or null when the text is not base64. */
export function readBase64(text: string): Uint8Array<ArrayBuffer> | null {
  const length = decodedLength(text)
  if (length === null) return null
  const bytes = newSecret(length)
  return decodeInto(text, bytes) === length ? bytes : null
}

function decodedLength(text: string): number | null {
  if (text.length % 4 !== 0 || !BASE64.test(text)) return null
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  return (text.length / 4) * 3 - padding
}

/** Unlike `Buffer.from(text)`, which uses memory that others share. Fewer bytes than expected: padding alone. */
const decodeInto = (text: string, { buffer, byteOffset, byteLength }: Uint8Array): number =>
  Buffer.from(buffer, byteOffset, byteLength).write(text, 'base64')

/** The decoded bytes; throws `invalid` naming the field. `lines`: LF characters are removed first. */
export function decodeBase64(text: string, field: string, options?: { lines?: boolean }): Uint8Array<ArrayBuffer> {
  const bytes = readBase64(options?.lines ? text.replaceAll('\n', '') : text)
  if (bytes === null) throw new CofferError('invalid', `${field}: not base64`)
  return bytes
}

export const encodeBase64 = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('base64')

/** RFC 4648 section 5 without padding, in memory of its own; null when the text is not the one that `encodeBase64Url` makes of the bytes. */
export function readBase64Url(text: string): Uint8Array<ArrayBuffer> | null {
  const bytes = newSecret(Math.floor((text.length / 4) * 3))
  Buffer.from(bytes.buffer).write(text, 'base64url')
  return encodeBase64Url(bytes) === text ? bytes : null
}

export const encodeBase64Url = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('base64url')
