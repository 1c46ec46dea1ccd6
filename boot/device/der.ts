/** Reads DER as far as signatures of UEFI programs use it: ITU-T X.690, definite lengths, tags of one byte. */

export interface Der {
  tag: number
  content: Buffer
  /** With tag and length. */
  whole: Buffer
}

export class DerError extends Error {}

export const SEQUENCE = 0x30
export const SET = 0x31
export const OID = 0x06
export const OCTET_STRING = 0x04
/** Context-specific and constructed. */
export const tagged = (number: number): number => 0xa0 | number

/** All values in `bytes`, one after another. */
export function readAll(bytes: Buffer): Der[] {
  const values: Der[] = []
  for (let offset = 0; offset < bytes.length; offset += values.at(-1)!.whole.length)
    values.push(readFirst(bytes.subarray(offset)))
  return values
}

/** What `bytes` begin with; more may follow. */
export function readFirst(bytes: Buffer): Der {
  const [tag, first] = bytes
  if (tag === undefined || first === undefined || (tag & 0x1f) === 0x1f) throw new DerError('a value is cut off')
  let start = 2
  let length = first
  if (first >= 0x80) {
    const count = first & 0x7f
    if (count === 0 || count > 4 || bytes.length < 2 + count) throw new DerError('a length is not as it must be')
    length = bytes.readUIntBE(2, count)
    start += count
  }
  if (bytes.length < start + length) throw new DerError('a value is longer than what holds it')
  return { tag, content: bytes.subarray(start, start + length), whole: bytes.subarray(0, start + length) }
}

/** The values within `value`, which has this tag. */
export function within(value: Der | undefined, tag: number): Der[] {
  return readAll(contentOf(value, tag))
}

export function contentOf(value: Der | undefined, tag: number): Buffer {
  if (value?.tag !== tag) throw new DerError('a value is of another kind than it must be')
  return value.content
}

/** In the usual notation. */
export function oidOf(value: Der | undefined): string {
  const bytes = contentOf(value, OID)
  const parts: number[] = []
  let part = 0
  for (const byte of bytes) {
    part = part * 0x80 + (byte & 0x7f)
    if (byte & 0x80) continue
    parts.push(part)
    part = 0
  }
  const [first = 0, ...rest] = parts
  const top = Math.min(2, Math.floor(first / 40))
  return [top, first - 40 * top, ...rest].join('.')
}
