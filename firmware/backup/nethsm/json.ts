/**
 * The JSON of a NetHSM's records: RFC 8259 but for strings, which hold bytes as they are, also such that are no UTF-8.
 * Strings are read as bytes, since private keys are among them.
 */

import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { CofferError } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'

const DEPTH_MAX = 8 // records have three levels
const NAME_BYTES_MAX = 64 // the longest name has 12

export type NethsmJson = null | boolean | number | Uint8Array | NethsmJson[] | Map<string, NethsmJson>

/** Throws `invalid`. The bytes of strings are copies. */
export function parseJson(bytes: Uint8Array): NethsmJson {
  const reader = new Reader(bytes)
  const value = reader.value(DEPTH_MAX)
  reader.end()
  return value
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20
const SHORT: ReadonlyMap<number, number> = new Map(
  Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }).map(
    ([letter, character]) => [letter.charCodeAt(0), character.charCodeAt(0)],
  ),
)
const LONG = new Map([...SHORT].filter(([letter]) => letter !== 0x2f).map(([letter, byte]) => [byte, letter]))

class Reader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  end(): void {
    this.#skipSpace()
    if (this.#at < this.#bytes.length) throw malformed()
  }

  value(depth: number): NethsmJson {
    this.#skipSpace()
    const first = this.#bytes[this.#at]
    if (first === QUOTE) return this.#string()
    if (first === 0x7b || first === 0x5b) {
      if (depth === 0) throw malformed()
      return first === 0x7b ? this.#object(depth - 1) : this.#array(depth - 1)
    }
    return this.#word()
  }

  #object(depth: number): Map<string, NethsmJson> {
    const members = new Map<string, NethsmJson>()
    this.#list('}', () => {
      this.#skipSpace()
      const bytes = this.#string()
      if (bytes.length > NAME_BYTES_MAX) throw malformed()
      const name = String.fromCharCode(...bytes)
      if (members.has(name)) throw malformed()
      this.#expect(':')
      members.set(name, this.value(depth))
    })
    return members
  }

  #array(depth: number): NethsmJson[] {
    const values: NethsmJson[] = []
    this.#list(']', () => values.push(this.value(depth)))
    return values
  }

  /** Each item read by `item`, up to and with `end`. */
  #list(end: string, item: () => void): void {
    this.#at++
    if (this.#takes(end)) return
    do item()
    while (this.#takes(','))
    this.#expect(end)
  }

  #string(): Uint8Array {
    if (this.#bytes[this.#at++] !== QUOTE) throw malformed()
    let end = this.#at
    while (this.#bytes[end] !== QUOTE) {
      if (end >= this.#bytes.length) throw malformed()
      end += this.#bytes[end] === BACKSLASH ? 2 : 1
    }
    const text = new Uint8Array(end - this.#at)
    let length = 0
    while (this.#at < end) {
      const byte = this.#bytes[this.#at++] ?? 0
      if (byte < SPACE) throw malformed()
      if (byte === BACKSLASH) length = this.#escape(text, length)
      else text[length++] = byte
    }
    this.#at++
    return text.subarray(0, length)
  }

  /** Writes what an escape stands for, which is never longer than it; returns where it ends. */
  #escape(text: Uint8Array, at: number): number {
    const letter = this.#bytes[this.#at++] ?? 0
    const byte = SHORT.get(letter)
    if (byte !== undefined) {
      text[at] = byte
      return at + 1
    }
    const digits = String.fromCharCode(...this.#bytes.subarray(this.#at, this.#at + 4))
    if (letter !== 0x75 || !/^[0-9a-f]{4}$/i.test(digits)) throw malformed()
    this.#at += 4
    const encoded = utf8ToBytes(String.fromCharCode(Number.parseInt(digits, 16)))
    text.set(encoded, at)
    return at + encoded.length
  }

  #word(): null | boolean | number {
    let end = this.#at
    while (end < this.#bytes.length && /[-+.\w]/.test(String.fromCharCode(this.#bytes[end] ?? 0))) end++
    const word = String.fromCharCode(...this.#bytes.subarray(this.#at, Math.min(end, this.#at + 32)))
    if (!/^(null|true|false|-?(0|[1-9]\d{0,15}))$/.test(word) || end - this.#at > word.length) throw malformed()
    this.#at = end
    return JSON.parse(word)
  }

  #takes(character: string): boolean {
    this.#skipSpace()
    if (this.#bytes[this.#at] !== character.charCodeAt(0)) return false
    this.#at++
    return true
  }

  #expect(character: string): void {
    if (!this.#takes(character)) throw malformed()
  }

  #skipSpace(): void {
    while (' \n\r\t'.includes(String.fromCharCode(this.#bytes[this.#at] ?? 0))) this.#at++
  }
}

const malformed = (): CofferError => new CofferError('invalid', 'A record of the backup cannot be read')

/** How many bytes stand for each byte of a string. */
const ENCODED_BYTES = Uint8Array.from({ length: 256 }, (_, byte) =>
  LONG.has(byte) ? 2 : byte < SPACE || byte === 0x7f ? 6 : 1,
)

const UNICODE_START = utf8ToBytes('\\u00')
const HEX_DIGITS = utf8ToBytes('0123456789abcdef')

/** A string of such JSON with its quotes; the caller wipes it. */
export function encodeString(bytes: Uint8Array): Uint8Array {
  let length = 2
  for (const byte of bytes) length += ENCODED_BYTES[byte] ?? 0
  const text = new Uint8Array(length)
  let at = 0
  text[at++] = QUOTE
  for (const byte of bytes) {
    const encodedBytes = ENCODED_BYTES[byte] ?? 0
    if (encodedBytes === 1) text[at++] = byte
    else if (encodedBytes === 2) {
      text[at++] = BACKSLASH
      text[at++] = LONG.get(byte) ?? 0
    } else {
      text.set(UNICODE_START, at)
      text[at + 4] = HEX_DIGITS[byte >> 4] ?? 0
      text[at + 5] = HEX_DIGITS[byte & 15] ?? 0
      at += 6
    }
  }
  text[at] = QUOTE
  return text
}

/** Joins JSON that is already encoded; the parts are wiped. */
export function joinJson(...parts: (string | Uint8Array)[]): Uint8Array {
  const bytes = parts.map((part) => (typeof part === 'string' ? utf8ToBytes(part) : part))
  const joined = concatBytes(...bytes)
  wipe(...bytes)
  return joined
}
