/** Decodes base64 that arrives in pieces. RFC 4648 section 4; contract section 1.1. */

import { copySecret, newSecret, transientSecret, wipeAndFree } from '../../base/secret.ts'

const NO_DIGIT = 64
const DIGITS = new Uint8Array(256).fill(NO_DIGIT)
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
for (const [value, character] of [...ALPHABET].entries()) DIGITS[character.charCodeAt(0)] = value

const digitAt = (bytes: Uint8Array, at: number): number => DIGITS[bytes[at] ?? PAD] ?? NO_DIGIT

const PAD = 0x3d
const LF = 0x0a
const GROUP_CHARACTERS = 4
const GROUP_BYTES = 3

const NOTHING = newSecret(0)

const SHORT_BYTES_MAX = 4096 // smaller results are not worth a copy of exact length

/** Requires padding. Ignores LF and the unused bits of the last character (contract 1.1). */
export class Base64Stream {
  #bytes = NOTHING
  #length = 0
  /** State of the unfinished group: its characters, their bits, and the padding among them. */
  #characters = 0
  #bits = 0
  #padding = 0
  #isClosed = false
  #isBad = false

  takeDigits(bytes: Uint8Array, at: number): number {
    this.#makeRoom(Math.ceil((bytes.length - at) / GROUP_CHARACTERS + 1) * GROUP_BYTES)
    let next = at
    for (;;) {
      next = this.#takeGroups(bytes, next)
      const byte = bytes[next]
      if (byte === undefined || DIGITS[byte] === NO_DIGIT) return next
      this.take(byte)
      next++
    }
  }

  take(code: number): void {
    if (code === LF || this.#isBad) return
    const digit = DIGITS[code] ?? NO_DIGIT
    const isPadding = code === PAD && this.#characters >= 2
    if (this.#isClosed || (!isPadding && (digit === NO_DIGIT || this.#padding > 0))) {
      this.#isBad = true
      return
    }
    if (isPadding) this.#padding++
    this.#bits = (this.#bits << 6) | (digit % NO_DIGIT)
    if (++this.#characters < GROUP_CHARACTERS) return
    this.#makeRoom(GROUP_BYTES)
    for (let n = 0; n < GROUP_BYTES - this.#padding; n++) this.#bytes[this.#length++] = this.#bits >> (16 - 8 * n)
    this.#isClosed = this.#padding > 0
    this.#characters = this.#bits = this.#padding = 0
  }

  /** Returns the decoded bytes, or null for malformed base64. Call once, last. */
  end(): Uint8Array | null {
    if (this.#isBad || this.#characters > 0) {
      this.wipe()
      return null
    }
    const bytes = this.#bytes.subarray(0, this.#length)
    if (this.#length <= SHORT_BYTES_MAX || this.#length === this.#bytes.length) return bytes
    const exact = copySecret(bytes) // exact length: the caller can wipe it and free its memory
    this.wipe()
    return exact
  }

  /** May be called twice: a reader also wipes after `end` has refused the text. */
  wipe(): void {
    wipeAndFree(this.#bytes)
    this.#bytes = NOTHING
    this.#length = 0
  }

  /** Fast path for complete groups without padding or LF. The caller has made room. */
  #takeGroups(bytes: Uint8Array, at: number): number {
    if (this.#characters > 0 || this.#isClosed || this.#isBad) return at
    const target = this.#bytes
    let length = this.#length
    let next = at
    for (; next + GROUP_CHARACTERS <= bytes.length; next += GROUP_CHARACTERS) {
      const a = digitAt(bytes, next)
      const b = digitAt(bytes, next + 1)
      const c = digitAt(bytes, next + 2)
      const d = digitAt(bytes, next + 3)
      if ((a | b | c | d) >= NO_DIGIT) break
      target[length++] = (a << 2) | (b >> 4)
      target[length++] = (b << 4) | (c >> 2)
      target[length++] = (c << 6) | d
    }
    this.#length = length
    return next
  }

  #makeRoom(bytes: number): void {
    const needed = this.#length + bytes
    if (needed <= this.#bytes.length) return
    const larger = transientSecret(this.#length === 0 ? needed : Math.max(needed, 2 * this.#bytes.length))
    larger.set(this.#bytes.subarray(0, this.#length))
    wipeAndFree(this.#bytes)
    this.#bytes = larger
  }
}
