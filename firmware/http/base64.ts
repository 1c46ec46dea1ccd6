/** Base64 as the contract (1.1) has it: RFC 4648 section 4 with padding, unused bits of the last character ignored. */

import { CofferError } from '../error.ts'

/** Spaces the decoder of the runtime would skip; here they are foreign characters. */
const SPACE = /[\t\n\f\r ]/

/** The decoded bytes, in memory of their own, or null when the text is not base64. */
export const readBase64 = (text: string): Uint8Array<ArrayBuffer> | null =>
  decode(text, (options) => Uint8Array.fromBase64(text, options))

/** How many bytes were decoded into `target`, or null when the text is not base64 or they have no room. */
export const readBase64Into = (text: string, target: Uint8Array): number | null =>
  decode(text, (options) => {
    const { read, written } = target.setFromBase64(text, options)
    return read === text.length ? written : null
  })

function decode<T>(text: string, how: (options: { lastChunkHandling: 'loose' }) => T): T | null {
  if (text.length % 4 !== 0 || SPACE.test(text)) return null
  try {
    return how({ lastChunkHandling: 'loose' })
  } catch {
    return null
  }
}

/** The decoded bytes; throws `invalid` naming the field. `lines`: LF characters are removed first. */
export function decodeBase64(text: string, field: string, options?: { lines?: boolean }): Uint8Array<ArrayBuffer> {
  const bytes = readBase64(options?.lines ? text.replaceAll('\n', '') : text)
  if (bytes === null) throw new CofferError('invalid', `${field}: not base64`)
  return bytes
}

export const encodeBase64 = (bytes: Uint8Array): string => bytes.toBase64()
