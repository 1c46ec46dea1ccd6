/**
 * A strict DER reader (X.690 sections 8 and 10) for private keys and signatures. It hands out views of its input and copies nothing,
 * so that one wipe removes the key; public structures are made with the @peculiar schemas instead.
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

/** `[n]` of a constructed value: explicit tags and SET or SEQUENCE under an implicit one. */
export const constructed = (n: number): number => 0xa0 | n
/** `[n] IMPLICIT` of a primitive value. */
export const primitive = (n: number): number => 0x80 | n

const OID_BYTES_MAX = 32 // the longest we know has 9

/** Reads the values of one constructed value in order. Every method throws CofferError `invalid` for what is not DER. */
export class DerReader {
  readonly #bytes: Uint8Array
  #position = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** The content of the next value, which must carry that tag. */
  read(tag: number): Uint8Array {
    if (this.#byte() !== tag) throw malformed()
    const length = this.#length()
    const end = this.#position + length
    if (end > this.#bytes.length) throw malformed()
    const content = this.#bytes.subarray(this.#position, end)
    this.#position = end
    return content
  }

  /** As `read`, or undefined when the next value carries another tag or there is none. */
  readOptional(tag: number): Uint8Array | undefined {
    return this.#bytes[this.#position] === tag ? this.read(tag) : undefined
  }

  /** As `read`, with the value's tag and length. */
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

  /** A number that is not negative, big-endian without leading zeros (one zero byte for 0). */
  unsigned(): Uint8Array {
    const content = this.read(TAG.integer)
    if (content.length === 0 || content[0]! >= 0x80) throw malformed()
    if (content.length === 1 || content[0] !== 0) return content
    if (content[1]! < 0x80) throw malformed()
    return content.subarray(1)
  }

  /** In dotted form. */
  oid(): string {
    return decodeOid(this.read(TAG.oid))
  }

  /** Refuses anything left. */
  end(): void {
    if (this.#position !== this.#bytes.length) throw malformed()
  }

  #byte(): number {
    const byte = this.#bytes[this.#position++]
    if (byte === undefined) throw malformed()
    return byte
  }

  /** Definite and minimal. */
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

/** The bytes of a BIT STRING, which must hold whole bytes. */
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
