/**
 * Verifies an exported audit log without the appliance: finds lines that were changed, removed, added or reordered. The hash of a
 * line is SHA-256 over the hash of the previous line, the hash of the previous line of its kind, and the text of the line without
 * hashes. The head at the end of an export is signed (Ed25519, RFC 8032). Contract section 3.9.
 */

import { type AuditHead, KINDS, type Kind, linesOf, type ParsedLine, parseLine } from './audit-lines.ts'
import { fromHex, toHex } from './bytes.ts'
import { sha256 } from './sha2.ts'

const PROBLEMS_MAX = 100 // more would not help the reader

export interface Expectations {
  key?: string
  known?: ReadonlyMap<number, string>
  /**
   * A log server has kept lines that the appliance has overwritten since, or got none of the first ones that the appliance keeps: no line
   * may be missing behind the first one.
   */
  isCollected?: boolean
}

export interface Verdict {
  /** Failed checks, as sentences; empty if the log is authentic. */
  problems: string[]
  /** Facts that cannot be checked: noted lines that have been overwritten since. */
  notes: string[]
  head: AuditHead | null
  /** Number of lines in the file, and of lines overwritten between them. */
  lines: number
  overwritten: number
}

interface Span {
  first: number
  last: number
  hash: string
}

/** Reads an export line by line. Memory grows only with the number of gaps. */
export async function verifyExport(
  bytes: AsyncIterable<Uint8Array>,
  { key, known, isCollected = false }: Expectations = {},
): Promise<Verdict> {
  const problems: string[] = []
  const gaps = createGaps()
  const spans: Partial<Record<Kind, Span>> = {}
  let breaks: { kind: Kind; from: number; to: number }[] = []
  const unseen = new Map(known)
  let head: AuditHead | null = null
  let first: number | null = null
  let last: { sequence: number; hash: string } | null = null
  let lines = 0
  let place = 0

  for await (const text of linesOf(bytes)) {
    place++
    if (problems.length >= PROBLEMS_MAX) break
    if (head !== null) {
      problems.push('There are lines behind the head.')
      break
    }
    const value = text === null ? null : parseLine(text)
    if (value === null) problems.push(`Line ${place} of the file is no line of an audit log.`)
    else if ('head' in value) {
      head = value.head
      if (!value.isExact) problems.push('The head was changed: the appliance writes it in another way.')
    } else take(value)
  }

  function take({ line, hashed }: ParsedLine): void {
    const { sequence, hash, previous, previousOfKind, kind = 'change' } = line
    if (hashed === null) problems.push(`Line ${sequence} was changed: the appliance writes it in another way.`)
    else if (!isHashRight({ line, hashed })) problems.push(`Line ${sequence} was changed: its hash is another one.`)
    compareNoted(sequence, hash)
    if (last !== null && sequence <= last.sequence) {
      const what = gaps.fill(sequence) ? 'is not in its place' : 'is there twice or not in its place'
      problems.push(`Line ${sequence} ${what}: it comes after line ${last.sequence}.`)
      breaks = breaks.filter(({ from, to }) => sequence < from || sequence > to)
      return
    }
    compareNoted(sequence - 1, previous)
    const isNext = sequence === (last?.sequence ?? 0) + 1
    const follows = last === null || !isNext || previous === last.hash
    if (last !== null && !isNext) gaps.add(last.sequence + 1, sequence - 1)
    if (!follows) problems.push(`Line ${sequence} does not follow line ${sequence - 1}: one of them was replaced.`)
    const span = spans[kind]
    if (follows && span !== undefined && (previousOfKind ?? previous) !== span.hash)
      breaks.push({ kind, from: span.last, to: sequence })
    // Lines older than the kinds precede the first line of every kind.
    spans[kind] = { first: span?.first ?? sequence, last: sequence, hash }
    lines++
    first ??= sequence
    last = { sequence, hash }
  }

  function compareNoted(sequence: number, hash: string): void {
    const noted = unseen.get(sequence)
    if (noted === undefined) return
    unseen.delete(sequence)
    if (noted !== hash) problems.push(`Line ${sequence} is not the one that was noted.`)
  }

  const { missing, overwritten } = judgeGaps(gaps.list(), isCollected ? null : head)
  problems.push(...missing.map(([from, to]) => `Missing: ${from === to ? `line ${from}` : `lines ${from} to ${to}`}.`))
  for (const { kind, from, to } of breaks)
    if (!missing.some(([a, b]) => a > from && b < to))
      problems.push(`Line ${to} does not follow line ${from}, the ${kind} before it: one was left out or replaced.`)
  problems.push(...(await judgeEnds(head, first, last, key, isCollected)))
  const from = isCollected ? (first ?? 0) : 0
  if (problems.length === 0 && head !== null) problems.push(...judgeRings(head, spans, isCollected, from))
  const notes: string[] = []
  if (isCollected && head !== null && first !== null && first > head.first)
    notes.push(
      `The file begins at line ${first}, the appliance kept lines from ${head.first} on: these may be elsewhere.`,
    )
  for (const number of unseen.keys()) {
    if (head !== null && number > head.sequence) problems.push(`Line ${number} was noted, the log ends before it.`)
    else notes.push(`Line ${number} was noted and has been overwritten: nothing can be said of it.`)
  }
  return { problems, notes, head, lines, overwritten }
}

/**
 * Lines missing below the first remaining line of some kind may have been overwritten; the chain of each kind shows whether they
 * were. Lines missing above it are an error.
 */
function judgeGaps(gaps: readonly Gap[], head: AuditHead | null): { missing: Gap[]; overwritten: number } {
  const firsts = KINDS.map((kind) => head?.rings?.[kind]?.first ?? 0)
  const bound = Math.max(...firsts)
  const missing = gaps.map(([from, to]): Gap => [Math.max(from, bound), to]).filter(([from, to]) => from <= to)
  const overwritten = gaps.map(([from, to]) => Math.max(0, Math.min(to + 1, bound) - from))
  return { missing, overwritten: overwritten.reduce((a, b) => a + b, 0) }
}

async function judgeEnds(
  head: AuditHead | null,
  first: number | null,
  last: { sequence: number; hash: string } | null,
  key: string | undefined,
  isCollected: boolean,
): Promise<string[]> {
  if (head === null) return ['The end is missing: the file has no head.']
  const problems: string[] = []
  if (!(await isWellSigned(head))) problems.push('The signature of the head is wrong.')
  if (key !== undefined && head.key !== key) problems.push('The head is signed with another key than the one given.')
  if (first !== null && !isCollected && first !== head.first) {
    problems.push(
      first > head.first
        ? `Missing at the beginning: lines ${head.first} to ${first - 1}.`
        : `The head begins at line ${head.first}, the file at line ${first}.`,
    )
  }
  const end = last?.sequence ?? head.first - 1
  if (end < head.sequence) problems.push(`Missing at the end: lines ${end + 1} to ${head.sequence}.`)
  else if (end > head.sequence) problems.push(`The head ends at line ${head.sequence}, the file at line ${end}.`)
  else if (last !== null && last.hash !== head.hash) problems.push(`Line ${end} is not the one that was signed.`)
  return problems
}

/** The signed ends of each kind, and the links between them, prove that the lines of the kind are complete. */
function judgeRings(
  { rings }: AuditHead,
  spans: Partial<Record<Kind, Span>>,
  isCollected: boolean,
  from: number,
): string[] {
  if (rings === undefined) return []
  return KINDS.flatMap((kind) => {
    const { first, sequence, hash } = rings[kind]
    const span = spans[kind] ?? { first: 0, last: 0, hash }
    if (sequence < from) return []
    if (isCollected ? first >= from && span.first > first : span.first !== first)
      return [`The head begins at line ${first} for each ${kind}, the file at line ${span.first}.`]
    if (span.last !== sequence)
      return [`The head ends at line ${sequence} for each ${kind}, the file at line ${span.last}.`]
    return span.hash === hash ? [] : [`Line ${sequence} is not the ${kind} that was signed.`]
  })
}

/** True if the text of a line is as the appliance writes it, and has the hash of it. */
export const isHashRight = ({ line: { previous, previousOfKind, hash }, hashed }: ParsedLine): boolean =>
  hashed !== null && hashOf(previous, previousOfKind, hashed) === hash

/** True if the signature of an untrusted head is valid. False also if members are missing or malformed. */
export async function isWellSigned(head: AuditHead): Promise<boolean> {
  try {
    const { subtle } = globalThis.crypto
    const key = await subtle.importKey('raw', fromHex(head.key), 'Ed25519', false, ['verify'])
    return await subtle.verify('Ed25519', key, fromHex(head.signature), headBytes(head))
  } catch {
    return false
  }
}

function headBytes({ first, sequence, hash, time, rings }: AuditHead): Uint8Array<ArrayBuffer> {
  if (rings === undefined) return utf8(`coffer audit head\n${first}\n${sequence}\n${hash}\n${time}\n`)
  const ends = KINDS.map((kind) => `${kind} ${rings[kind].first} ${rings[kind].sequence} ${rings[kind].hash}\n`)
  return utf8(`coffer audit head 2\n${first}\n${sequence}\n${hash}\n${time}\n${ends.join('')}`)
}

const hashOf = (previous: string, previousOfKind = '', text: string): string =>
  toHex(sha256(fromHex(previous), fromHex(previousOfKind), utf8(text)))

type Gap = [from: number, to: number]

/** Ranges of missing sequence numbers. A line out of place may still fill one. */
function createGaps() {
  let gaps: Gap[] = []
  return {
    list: () => gaps,
    add: (from: number, to: number): void => void gaps.push([from, to]),
    fill(number: number): boolean {
      const gap = gaps.find(([from, to]) => from <= number && number <= to)
      if (gap === undefined) return false
      const [from, to] = gap
      const rest: Gap[] = [
        [from, number - 1],
        [number + 1, to],
      ]
      gaps = gaps.flatMap((other) => (other === gap ? rest.filter(([from, to]) => from <= to) : [other]))
      return true
    },
  }
}

const encoder = new TextEncoder()
const utf8 = (text: string): Uint8Array<ArrayBuffer> => encoder.encode(text)
