/** Edits a passphrase byte by byte, without creating a string. */

import { wipe } from '../../firmware/base/secret.ts'

export type Typed = 'enter' | 'interrupt' | null

const PASSPHRASE_BYTES_MAX = 200 // contract 4.1

const CTRL_C = 0x03
const BACKSPACE = 0x08
const LINE_FEED = 0x0a
const RETURN = 0x0d
const CTRL_U = 0x15
const ESCAPE = 0x1b
const SPACE = 0x20
const DELETE = 0x7f

interface PassphraseEditor {
  feed(byte: number): Typed
  /** Returns a copy of the passphrase, which the caller wipes, or null if it was too long. Resets the editor. */
  take(): Uint8Array | null
  clear(): void
}

export function createPassphraseEditor(): PassphraseEditor {
  const bytes = new Uint8Array(PASSPHRASE_BYTES_MAX)
  let length = 0
  let tooLong = false
  // Arrow and function keys send ESC [ parameters letter, or ESC O letter (ECMA-48 section 5.4), which are not text.
  let sequence: 'none' | 'started' | 'parameters' = 'none'

  const clear = () => {
    wipe(bytes)
    length = 0
    tooLong = false
  }

  const eraseCharacter = () => {
    while (length > 0) {
      const byte = bytes[--length] ?? 0
      bytes[length] = 0
      if ((byte & 0xc0) !== 0x80) return // the first byte of a UTF-8 character, not a continuation byte
    }
  }

  const skipsEscape = (byte: number): boolean => {
    if (sequence === 'none') return false
    if (sequence === 'started') sequence = byte === 0x5b || byte === 0x4f ? 'parameters' : 'none'
    else if (byte >= 0x40 && byte <= 0x7e) sequence = 'none'
    return true
  }

  return {
    feed: (byte) => {
      if (byte === CTRL_C) return 'interrupt'
      if (byte === RETURN || byte === LINE_FEED) {
        sequence = 'none'
        return 'enter'
      }
      if (skipsEscape(byte)) return null
      if (byte === ESCAPE) sequence = 'started'
      else if (byte === CTRL_U) clear()
      else if (byte === BACKSPACE || byte === DELETE) eraseCharacter()
      else if (byte >= SPACE && length < bytes.length) bytes[length++] = byte
      else if (byte >= SPACE) tooLong = true
      return null
    },
    take: () => {
      const typed = tooLong ? null : bytes.slice(0, length)
      clear()
      return typed
    },
    clear,
  }
}
