/** Finds traces of known values in files: raw, hexadecimal in either case, base64 at each of its three alignments. */

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

// Shorter ones would be found by chance: 8 bytes in a few megabytes once in 10^12 searches.
const NEEDLE_BYTES_MIN = 8

export interface Needle {
  what: string
  bytes: Uint8Array
}

/** A long value as pieces: a leak need not hold all of it. */
export function pieces(what: string, bytes: Uint8Array, pieceBytes = 16): Needle[] {
  const needles: Needle[] = []
  for (let at = 0; at + pieceBytes <= bytes.length; at += pieceBytes) {
    needles.push({ what: `${what}, bytes ${at} to ${at + pieceBytes}`, bytes: bytes.subarray(at, at + pieceBytes) })
  }
  return needles
}

export interface Search {
  searchDirectory(directory: string): string[]
  searchBytes(name: string, bytes: Buffer): string[]
}

/** Looks for all needles in one pass, by their first four bytes. */
export function createSearch(needles: readonly Needle[]): Search {
  const byStart = new Map<number, { what: string; bytes: Buffer }[]>()
  for (const needle of needles) {
    for (const form of formsOf(needle)) {
      const start = form.bytes.readUInt32LE(0)
      const others = byStart.get(start)
      if (others) others.push(form)
      else byStart.set(start, [form])
    }
  }
  const searchBytes = (name: string, bytes: Buffer): string[] => {
    const found: string[] = []
    for (let at = 0; at + 4 <= bytes.length; at++) {
      for (const form of byStart.get(bytes.readUInt32LE(at)) ?? []) {
        if (bytes.subarray(at, at + form.bytes.length).equals(form.bytes))
          found.push(`${form.what} in ${name} at ${at}`)
      }
    }
    return found
  }
  return {
    searchBytes,
    searchDirectory: (directory) =>
      readdirSync(directory, { recursive: true, encoding: 'utf8' })
        .filter((file) => statSync(join(directory, file)).isFile())
        .flatMap((file) => searchBytes(file, readFileSync(join(directory, file)))),
  }
}

function formsOf({ what, bytes }: Needle): { what: string; bytes: Buffer }[] {
  if (bytes.length < NEEDLE_BYTES_MIN) throw new Error(`${what} is too short to look for`)
  const raw = Buffer.from(bytes)
  const hex = raw.toString('hex')
  return [
    { what: `${what} raw`, bytes: raw },
    { what: `${what} in hex`, bytes: Buffer.from(hex) },
    { what: `${what} in upper-case hex`, bytes: Buffer.from(hex.toUpperCase()) },
    ...[0, 1, 2].map((offset) => ({
      what: `${what} in base64, alignment ${offset}`,
      bytes: Buffer.from(base64At(raw, offset)),
    })),
  ]
}

/** The characters that depend on these bytes alone when `offset` bytes stand before them in a group of three. */
function base64At(bytes: Buffer, offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64')
  const unclear = (offset + bytes.length) % 3 // bytes in the last group, whose last character depends on what follows
  const end = unclear === 0 ? text.length : text.length - 4 + unclear
  return text.slice(offset === 0 ? 0 : offset + 1, end)
}
