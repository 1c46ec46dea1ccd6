/**
 * A strict DER reader (X.690 sections 8 and 10) for private keys and signatures. It returns views of its input and copies
 * nothing, so that wiping the input removes the key. Public structures use the @peculiar schemas instead.
 */

import { CofferError } from '../../base/error.ts'

export const TAG = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  sequence: 0x30,
  set: 0x31,
} as const

/** Tag `[n]` of a constructed value: explicit tags, and implicit ones of a SET or SEQUENCE. */
export const constructed = (n: number): number => 0xa0 | n
/** Tag `[n] IMPLICIT` of a primitive value. */
export const primitive = (n: number): number => 0x80 | n

const OID_BYTES_MAX = 32 // the longest in use has 9

/** Reads the values inside a constructed value in order. All methods throw CofferError `invalid` if the input is not DER. */
export class DerReader {
  readonly #bytes: Uint8Array
  #position = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** Returns the content of the next value, which must have that tag. */
  read(tag: number): Uint8Array {
    if (this.#byte() !== tag) throw malformed()
    const length = this.#length()
    const end = this.#position + length
    if (end > this.#bytes.length) throw malformed()
    const content = this.#bytes.subarray(this.#position, end)
    this.#position = end
    return content
  }

  /** As `read`. Returns undefined at the end, or if the next value has another tag. */
  readOptional(tag: number): Uint8Array | undefined {
    return this.#bytes[this.#position] === tag ? this.read(tag) : undefined
  }

  /** As `read`, but includes the tag and the length. */
  readWhole(tag: number): Uint8Array {
    const start = this.#position
    this.read(tag)
    return this.#bytes.subarray(start, this.#position)
  }

  hasMore(): boolean {
    return this.#position < this.#bytes.length
  }

  sequence(): DerReader {
    return new DerReader(this.read(TAG.sequence))
  }

  /** Reads a non-negative INTEGER: big-endian, without leading zeros (one zero byte for 0). */
  unsigned(): Uint8Array {
    const content = this.read(TAG.integer)
    if (content.length === 0 || content[0]! >= 0x80) throw malformed()
    if (content.length === 1 || content[0] !== 0) return content
    if (content[1]! < 0x80) throw malformed()
    return content.subarray(1)
  }

  oid(): string {
    return decodeOid(this.read(TAG.oid))
  }

  end(): void {
    if (this.#position !== this.#bytes.length) throw malformed()
  }

  #byte(): number {
    const byte = this.#bytes[this.#position++]
    if (byte === undefined) throw malformed()
    return byte
  }

  #length(): number {
    const first = this.#byte()
    if (first < 0x80) return first
    const lengthBytes = first & 0x7f
    if (lengthBytes === 0 || lengthBytes > 3) throw malformed()
    let length = 0
    for (let i = 0; i < lengthBytes; i++) length = length * 256 + this.#byte()
    if (length < 0x80 || length < 2 ** (8 * (lengthBytes - 1))) throw malformed()
    return length
  }
}

/** Bytes of a BIT STRING, which must have no unused bits. */
export function bitStringBytes(content: Uint8Array): Uint8Array {
  if (content.length === 0 || content[0] !== 0) throw malformed()
  return content.subarray(1)
}

export function decodeOid(content: Uint8Array): string {
  if (content.length === 0 || content.length > OID_BYTES_MAX || content.at(-1)! >= 0x80) throw malformed()
  const arcs: number[] = []
  let arc = 0
  for (const byte of content) {
    if (arc === 0 && byte === 0x80) throw malformed() // not minimal
    arc = arc * 128 + (byte & 0x7f)
    if (arc > Number.MAX_SAFE_INTEGER / 128) throw malformed()
    if (byte >= 0x80) continue
    if (arcs.length === 0) {
      const top = Math.min(2, Math.floor(arc / 40))
      arcs.push(top, arc - 40 * top)
    } else arcs.push(arc)
    arc = 0
  }
  return arcs.join('.')
}

const malformed = (): CofferError => new CofferError('invalid', 'The private key is not valid DER')
