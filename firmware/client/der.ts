/**
 * Reads DER (X.690 section 10) strictly, and writes it, for public structures: certificates, requests and revocation lists. The
 * schemas in `firmware/crypto` would be three times as large as the CLI and the console together. Private keys are read there,
 * never here.
 */

export interface Element {
  tag: number
  content: Uint8Array
  whole: Uint8Array
}

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octets: 0x04,
  oid: 0x06,
  utf8: 0x0c,
  printable: 0x13,
  ia5: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const

/** Tag of a constructed `[n]`. */
export const context = (n: number): number => 0xa0 | n

const LENGTH_BYTES_MAX = 3

/** Throws `Error` if the bytes at `start` are not DER. */
export function readElement(bytes: Uint8Array, start = 0): Element {
  const tag = bytes[start]
  let length = bytes[start + 1]
  if (tag === undefined || length === undefined) throw new Error('Cut short')
  if ((tag & 0x1f) === 0x1f) throw new Error('A tag that is not known')
  let at = start + 2
  if (length >= 0x80) {
    const size = length & 0x7f
    length = 0
    for (const byte of bytes.subarray(at, at + size)) length = length * 256 + byte
    at += size
    const isShortest = length >= 0x80 && length >= 256 ** (size - 1)
    if (size < 1 || size > LENGTH_BYTES_MAX || !isShortest) throw new Error('A length that DER does not have')
  }
  if (at + length > bytes.length) throw new Error('Cut short')
  return { tag, content: bytes.subarray(at, at + length), whole: bytes.subarray(start, at + length) }
}

export function children(content: Uint8Array): Element[] {
  const found: Element[] = []
  for (let at = 0; at < content.length; ) {
    const element = readElement(content, at)
    found.push(element)
    at += element.whole.length
  }
  return found
}

/** Reads an element that fills `bytes`. Throws `Error` if it has another tag or is followed by more bytes. */
export function whole(bytes: Uint8Array, tag: number): Element {
  const element = readElement(bytes)
  if (element.tag !== tag || element.whole.length !== bytes.length)
    throw new Error('Not the structure that it should be')
  return element
}

export function oidText({ tag, content }: Element): string {
  if (tag !== TAG.oid || content.length === 0 || content.at(-1)! >= 0x80) throw new Error('Not an identifier')
  const arcs: number[] = []
  let arc = 0
  for (const byte of content) {
    if ((arc === 0 && byte === 0x80) || arc > 2 ** 40) throw new Error('Not an identifier')
    arc = arc * 128 + (byte & 0x7f)
    if (byte >= 0x80) continue
    if (arcs.length > 0) arcs.push(arc)
    else arcs.push(Math.min(2, Math.floor(arc / 40)), arc - 40 * Math.min(2, Math.floor(arc / 40)))
    arc = 0
  }
  return arcs.join('.')
}

export function element(tag: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const size = parts.reduce((sum, { length }) => sum + length, 0)
  const lengths: number[] = []
  for (let rest = size; rest > 0; rest = Math.floor(rest / 256)) lengths.unshift(rest % 256)
  const head = size < 0x80 ? [tag, size] : [tag, 0x80 | lengths.length, ...lengths]
  const bytes = new Uint8Array(head.length + size)
  bytes.set(head)
  let at = head.length
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

export const sequence = (...parts: readonly Uint8Array[]) => element(TAG.sequence, ...parts)

/** INTEGER of an unsigned big-endian number; leading zeros are removed. */
export function integer(big: Uint8Array): Uint8Array {
  const first = big.findIndex((byte) => byte !== 0)
  const shortest = first < 0 ? Uint8Array.of(0) : big.subarray(first)
  return element(TAG.integer, shortest[0]! >= 0x80 ? Uint8Array.of(0) : new Uint8Array(), shortest)
}

export function oid(dotted: string): Uint8Array {
  const [top = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes = [40 * top + second, ...rest].flatMap((arc) => {
    const digits = [arc % 128]
    for (let more = Math.floor(arc / 128); more > 0; more = Math.floor(more / 128)) digits.unshift(0x80 | (more % 128))
    return digits
  })
  return element(TAG.oid, Uint8Array.from(bytes))
}

export const bitString = (bytes: Uint8Array) => element(TAG.bitString, Uint8Array.of(0), bytes)

export const octets = (bytes: Uint8Array) => element(TAG.octets, bytes)

/** BOOLEAN TRUE. DER omits a FALSE that is the default. */
export const yes = () => element(TAG.boolean, Uint8Array.of(0xff))

export const text = (tag: number, value: string) => element(tag, new TextEncoder().encode(value))

/** UTCTime until 2049, then GeneralizedTime: RFC 5280 section 4.1.2.5. */
export function time(date: Date): Uint8Array {
  const digits = `${date.toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`
  const isLate = date.getUTCFullYear() >= 2050 || date.getUTCFullYear() < 1950
  return isLate ? text(TAG.generalizedTime, digits) : text(TAG.utcTime, digits.slice(2))
}
