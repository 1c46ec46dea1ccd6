/**
 * Parses exported audit logs: lines that end with LF, each exactly as the appliance writes it. Other JSON texts with the same
 * meaning are refused: with a duplicate member, two readers could see different events.
 */

import { concat } from './bytes.ts'

/** Changes, refusals and acts without effect, and uses of keys. */
export const KINDS = ['change', 'refusal', 'use'] as const
export type Kind = (typeof KINDS)[number]

/** AuditLine of contract section 3.9. */
export interface AuditLine {
  sequence: number
  /** Absent, as `previousOfKind` is, in lines of versions without kinds. These count as changes. */
  kind?: Kind
  time: string
  user: string
  address: string
  action: string
  key: string
  namespace: string
  result: number
  facts?: Readonly<Record<string, string>>
  skipped?: number
  previous: string
  previousOfKind?: string
  hash: string
}

/** AuditHead of contract section 3.9. */
export interface AuditHead {
  first: number
  sequence: number
  hash: string
  time: string
  rings?: Readonly<Record<Kind, RingEnds>>
  key: string
  signature: string
}

interface RingEnds {
  first: number
  sequence: number
  hash: string
}

const LINE_BYTES_MAX = 1024 * 1024 // lines of the appliance have a few hundred

/** Yields the text of each line. Yields null and ends at a line that is not UTF-8, too long, or without its LF. */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string | null> {
  let pieces: Uint8Array[] = []
  let length = 0
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.length; ) {
      const end = chunk.indexOf(LINE_FEED, at)
      const piece = chunk.subarray(at, end < 0 ? chunk.length : end)
      length += piece.length
      if (length > LINE_BYTES_MAX) return yield null
      pieces.push(end < 0 ? piece.slice() : piece) // copied, since the source may reuse the chunk
      at += piece.length + 1
      if (end < 0) break
      yield decoded(concat(pieces))
      pieces = []
      length = 0
    }
  }
  if (length > 0) yield null
}

const LINE_FEED = 0x0a

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decoded(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes)
  } catch {
    return null
  }
}

export interface ParsedLine {
  line: AuditLine
  /** The hashed part of the text; null if the text is not exactly as the appliance writes it. */
  hashed: string | null
}

interface ParsedHead {
  head: AuditHead
  isExact: boolean
}

/** Null if the text is neither a line nor a head of an audit log. */
export function parseLine(text: string): ParsedLine | ParsedHead | null {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return null
    if (!('head' in value)) return parseEvent(text, value as AuditLine)
    const { head } = value as { head: AuditHead }
    return typeof head === 'object' && head !== null ? { head, isExact: isExactHead(text, head) } : null
  } catch {
    return null
  }
}

function parseEvent(text: string, line: AuditLine): ParsedLine | null {
  const { previous, previousOfKind, hash, ...rest } = line
  const { sequence, kind } = rest
  const isOfKind = kind === undefined ? previousOfKind === undefined : KINDS.includes(kind) && isHash(previousOfKind)
  if (!Number.isSafeInteger(sequence) || !isOfKind || !isHash(previous) || !isHash(hash)) return null
  const hashed = JSON.stringify(rest)
  const hashes = JSON.stringify({ previous, previousOfKind, hash })
  return { line, hashed: text === `${hashed.slice(0, -1)},${hashes.slice(1)}` ? hashed : null }
}

/** The signature covers the values of a head only. So no other member is allowed, and one form of each value. */
function isExactHead(text: string, { first, sequence, hash, rings, time, key, signature }: AuditHead): boolean {
  try {
    const ends = rings === undefined ? undefined : Object.fromEntries(KINDS.map((kind) => [kind, endsOf(rings[kind])]))
    const head = { ...endsOf({ first, sequence, hash }), rings: ends, time, key, signature }
    return TIME.test(time) && isHash(key) && SIGNATURE.test(signature) && text === JSON.stringify({ head })
  } catch {
    return false
  }
}

const SIGNATURE = /^[0-9a-f]{128}$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

/** Throws `Error` if a value is malformed. */
function endsOf({ first, sequence, hash }: RingEnds): RingEnds {
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(sequence) || !isHash(hash)) throw new Error('Not an end')
  return { first, sequence, hash }
}

const isHash = (value: unknown): boolean => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
