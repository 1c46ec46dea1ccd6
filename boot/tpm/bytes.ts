/** Marshaling: integers are big-endian, and a sized buffer begins with its length in two bytes. TPM 2.0 Library Part 2, 4 and 10.4. */

import { wipe } from '../../firmware/base/secret.ts'

export const u8 = (value: number): Uint8Array => Uint8Array.of(value)
export const u16 = (value: number): Uint8Array => Uint8Array.of(value >>> 8, value)
export const u32 = (value: number): Uint8Array => Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value)

export const EMPTY = new Uint8Array(0)

/** A TPM2B structure. */
export const sized = (bytes: Uint8Array): Uint8Array => join(u16(bytes.length), bytes)

export function join(...parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let offset = 0
  for (const part of parts) {
    joined.set(part, offset)
    offset += part.length
  }
  return joined
}

export class MalformedError extends Error {}

export interface TpmReader {
  u8(): number
  u16(): number
  u32(): number
  /** Returns a copy of the next bytes. */
  bytes(length: number): Uint8Array
  /** Returns a copy of the contents of a TPM2B. */
  sized(): Uint8Array
  rest(): Uint8Array
  /** Throws a MalformedError if bytes remain. */
  end(): void
  /** Wipes the source, not the copies. */
  wipe(): void
}

/** All methods throw a MalformedError if the bytes end too early. */
export function readerOf(source: Uint8Array): TpmReader {
  let offset = 0
  const bytes = (length: number): Uint8Array => {
    if (length > source.length - offset) throw new MalformedError(`${length} bytes expected at ${offset}`)
    offset += length
    return source.slice(offset - length, offset)
  }
  const integer = (length: number) => bytes(length).reduce((value, byte) => value * 256 + byte, 0)
  return {
    u8: () => integer(1),
    u16: () => integer(2),
    u32: () => integer(4),
    bytes,
    sized: () => bytes(integer(2)),
    rest: () => bytes(source.length - offset),
    end: () => {
      if (offset !== source.length) throw new MalformedError(`${source.length - offset} bytes too many`)
    },
    wipe: () => {
      wipe(source)
    },
  }
}
