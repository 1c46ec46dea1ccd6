/**
 * The bytes of an exported audit log: lines that end with LF, each exactly as the appliance writes it. Another JSON text
 * with the same meaning is refused, since a reader that takes the first of two members would see another event.
 */

import { concat } from './bytes.ts'

/** Changes that were made, what was refused or had no effect, and uses of keys. */
export const KINDS = ['change', 'refusal', 'use'] as const
export type Kind = (typeof KINDS)[number]

/** AuditLine of contract section 3.9. */
export interface AuditLine {
  sequence: number
  /** This and `previousOfKind` are absent in lines of versions without kinds, which count as changes. */
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

const LINE_BYTES_MAX = 1024 * 1024 // a line of the appliance has some hundreds

/** The text of each line, or null for a line that is no UTF-8, too long, or without its LF. */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string | null> {
  let pieces: Uint8Array[] = []
  let length = 0
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.length; ) {
      const end = chunk.indexOf(LINE_FEED, at)
      const piece = chunk.subarray(at, end < 0 ? chunk.length : end)
      length += piece.length
      if (length > LINE_BYTES_MAX) return yield null
      pieces.push(end < 0 ? piece.slice() : piece) // the chunk may be another one's by then
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
  /** The part of the text that its hash is over, null when the text is not as the appliance writes it. */
  hashed: string | null
}

interface ParsedHead {
  head: AuditHead
  /** True if the text is as the appliance writes it. */
  isExact: boolean
}

/** Null for what is neither a line nor a head of an audit log. */
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

/** The signature is over the values of a head, so nothing else may stand in it, and each in its one form. */
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

/** Throws for what has another form. */
function endsOf({ first, sequence, hash }: RingEnds): RingEnds {
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(sequence) || !isHash(hash)) throw new Error('Not an end')
  return { first, sequence, hash }
}

const isHash = (value: unknown): boolean => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
