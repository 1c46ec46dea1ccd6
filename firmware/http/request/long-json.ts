/**
 * Parses a JSON object with a few short members and a long base64 member as it arrives, and decodes the long one into bytes. Malformed
 * input is refused at its first wrong byte, so that no body costs more memory than its own size. RFC 8259; contract section 1.1.
 */

import { CofferError } from '../../base/error.ts'
import { emptyBody, notJson, parseJson, unknownMembers } from '../../base/json.ts'
import { Base64Stream } from './base64-stream.ts'

export interface LongJson {
  /** Parsed members; the long one is `''`. */
  fields: Record<string, unknown>
  /** Null for malformed base64, empty if the member is missing. */
  bytes: Uint8Array | null
}

interface LongJsonReader {
  take(chunk: Uint8Array): 'taken'
  /** Call once. Throws `invalid`. */
  end(): LongJson
  wipe(): void
}

/** Bound of names and short values, quotes and escapes included. */
const TEXT_BYTES_MAX = 512

/** Endpoints have three members. A repeated name counts each time; its last value wins. */
const MEMBERS_MAX = 16

/** Characters allowed between values, and the state that each one starts. */
const MARKS = {
  object: { '{': 'firstName' },
  firstName: { '"': 'name', '}': 'end' },
  nextName: { '"': 'name' },
  colon: { ':': 'value' },
  value: { '"': 'text', n: 'null' },
  comma: { ',': 'nextName', '}': 'end' },
  end: {},
} as const

type Mark = keyof typeof MARKS
type State = Mark | 'name' | 'text' | 'long' | 'null'

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]

const SPACE = /[ \t\n\r]/
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/ // ASCII without escapes
const NULL = 'null'

const NOTHING = Buffer.alloc(0)

const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE_CODE = 0x20
const ASCII_MAX = 0x7f

const ESCAPES = new Map(Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }))
const DIGITS_OF_U = 4
const ESCAPE_OF_U_BYTES = 2 + DIGITS_OF_U
const U = 0x75

const HEX = new Uint8Array(256).fill(16)
for (const digit of '0123456789abcdefABCDEF') HEX[digit.charCodeAt(0)] = Number.parseInt(digit, 16)

export function createLongJsonReader(names: readonly string[], long: string): LongJsonReader {
  const fields: Record<string, unknown> = {}
  let state: State = 'object'
  let members = 0
  let name = ''
  let held: Buffer = NOTHING // start of a text from an earlier piece, or of `null`
  let isStart = true // true until a byte other than the byte order mark arrives
  let isEscaped = false // the next byte of a short text follows a backslash
  let escaped: string | null = null // the escape read so far in the long member
  let isEmpty = true
  let markBytes = 0 // bytes read of the byte order mark, which RFC 8259 section 8.1 lets parsers ignore
  let content = new Base64Stream()

  function take(chunk: Uint8Array): 'taken' {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
    isEmpty &&= bytes.length === 0
    for (let at = 0; at < bytes.length; ) {
      if (isStart && bytes[at] === BYTE_ORDER_MARK[markBytes]) {
        markBytes++
        at++
        continue
      }
      if (isStart && markBytes > 0 && markBytes < BYTE_ORDER_MARK.length) throw notJson()
      isStart = false
      if (state === 'long') at = takeLong(bytes, at)
      else if (state === 'name' || state === 'text') at = takeText(bytes, at)
      else if (state === 'null') at = takeNull(bytes, at)
      else takeMark(String.fromCharCode(bytes.readUInt8(at++)), state)
    }
    return 'taken'
  }

  function takeMark(character: string, mark: Mark): void {
    const next = (MARKS[mark] as Record<string, State | undefined>)[character]
    if (next === undefined && SPACE.test(character)) return
    if (next === undefined) throw mark === 'value' ? invalid(`${name}: not a text`) : notJson()
    state = next === 'text' && name === long ? 'long' : next
    if (next === 'null') held = Buffer.from(character)
    if (state !== 'long') return
    content.wipe()
    content = new Base64Stream()
  }

  function takeText(bytes: Buffer, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at]
      if (isEscaped) isEscaped = false
      else if (byte === BACKSLASH) isEscaped = true
      else if (byte === QUOTE) {
        endText(hold(bytes, from, at))
        held = NOTHING
        return at + 1
      }
    }
    held = Buffer.from(hold(bytes, from, bytes.length))
    return bytes.length
  }

  function hold(bytes: Buffer, from: number, to: number): Buffer {
    if (held.length + to - from > TEXT_BYTES_MAX)
      throw invalid(
        state === 'name' ? `body: ${unknownMembers([bytes.toString('latin1', from, to)])}` : `${name}: too long`,
      )
    const piece = bytes.subarray(from, to)
    return held.length === 0 ? piece : Buffer.concat([held, piece])
  }

  function endText(raw: Buffer): void {
    const plain = raw.toString('latin1')
    const text = PLAIN.test(plain) ? plain : (parseJson(Buffer.concat([QUOTES, raw, QUOTES])) as string)
    if (state === 'text') {
      fields[name] = text
      state = 'comma'
      return
    }
    if (!names.includes(text)) throw invalid(`body: ${unknownMembers([text])}`)
    if (++members > MEMBERS_MAX) throw invalid(`The request body has more than ${MEMBERS_MAX} members`)
    name = text
    state = 'colon'
  }

  function takeNull(bytes: Buffer, at: number): number {
    held = Buffer.concat([held, bytes.subarray(at, at + 1)])
    const text = held.toString('latin1')
    if (!NULL.startsWith(text)) throw notJson()
    if (text === NULL) {
      fields[name] = null
      held = NOTHING
      state = 'comma'
    }
    return at + 1
  }

  function takeLong(bytes: Buffer, from: number): number {
    if (escaped !== null) {
      takeEscape(escaped + String.fromCharCode(bytes.readUInt8(from)))
      return from + 1
    }
    const at = content.takeDigits(bytes, from)
    const byte = bytes[at]
    if (byte === undefined) return at
    if (byte === QUOTE) {
      fields[name] = ''
      state = 'comma'
    } else if (byte === BACKSLASH) {
      if (bytes[at + 1] === U && at + ESCAPE_OF_U_BYTES <= bytes.length) {
        content.take(hexAt(bytes, at + 2)) // fast path, for texts of `\u` escapes only
        return at + ESCAPE_OF_U_BYTES
      }
      escaped = ''
    } else if (byte < SPACE_CODE) throw notJson()
    else if (byte > ASCII_MAX) throw invalid(`${name}: not base64`)
    else content.take(byte)
    return at + 1
  }

  function takeEscape(text: string): void {
    escaped = text
    if (!text.startsWith('u')) content.take(codeOf(ESCAPES.get(text)))
    else if (text.length <= DIGITS_OF_U) return
    else if (/^u[0-9a-f]{4}$/i.test(text)) content.take(Number.parseInt(text.slice(1), 16))
    else throw notJson()
    escaped = null
  }

  return {
    take,
    end() {
      if (isEmpty) throw emptyBody()
      if (state !== 'end') throw notJson()
      return { fields, bytes: content.end() }
    },
    wipe: () => content.wipe(),
  }
}

const QUOTES = Buffer.from('"')

function hexAt(bytes: Buffer, from: number): number {
  let code = 0
  for (let at = from; at < from + DIGITS_OF_U; at++) {
    const digit = HEX[bytes.readUInt8(at)] ?? 16
    if (digit === 16) throw notJson()
    code = code * 16 + digit
  }
  return code
}

function codeOf(character: string | undefined): number {
  if (character === undefined) throw notJson()
  return character.charCodeAt(0)
}

const invalid = (message: string) => new CofferError('invalid', message)
