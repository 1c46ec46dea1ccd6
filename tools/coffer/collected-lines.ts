/**
 * Lines of an audit log in the file of a log server, where they repeat, come in any order, and have the fields of the server's own
 * format before them. Contract section 7.6.
 */

import { closeSync, openSync, readSync } from 'node:fs'
import type { AuditHead, AuditLine } from '../../firmware/client/audit-lines.ts'
import { EXIT, Failure } from './failure.ts'

interface Place {
  sequence: number
  /** In bytes. */
  start: number
  length: number
}

interface Candidate {
  bytes: Buffer
  line: AuditLine
}

type Judge = Awaited<ReturnType<typeof loadJudge>>

const LINE = /\{"(?:sequence|head)":.*\}$/s
const CHUNK_BYTES = 1024 * 1024
const LINE_BYTES_MAX = 1024 * 1024 // as in firmware/client/audit-lines.ts

/** Loaded when it is needed: it takes a noticeable part of a start. */
async function loadJudge() {
  const { isHashRight, isWellSigned } = await import('../../firmware/client/audit-verify.ts')
  const { parseLine } = await import('../../firmware/client/audit-lines.ts')
  return { isHashRight, isWellSigned, parseLine }
}

/**
 * Yields each audit line once, in the order of their numbers, then the newest signed head that no line is missing for at the end.
 * Lines behind that head are left out. Other texts may look like lines and heads, since a request of anybody stands in the system log:
 * they are left out where a right one is there. Memory grows with the number of lines, by some 100 bytes each. With `key`, other heads
 * are not right.
 */
export async function collectLines(file: string, key?: string): Promise<AsyncIterable<Uint8Array>> {
  const judge = await loadJudge()
  const lines: Place[] = []
  const heads: { place: Place; head: AuditHead; isExact: boolean }[] = []
  for (const { text, start } of textsIn(file)) {
    const match = LINE.exec(text)
    const value = match && judge.parseLine(match[0])
    if (match === null || value === null) continue
    const at = { start: start + match.index, length: match[0].length }
    if ('line' in value) lines.push({ sequence: value.line.sequence, ...at })
    else heads.push({ place: { sequence: value.head.sequence, ...at }, ...value })
  }
  lines.sort((a, b) => a.sequence - b.sequence)
  const last = lines.at(-1)?.sequence ?? 0
  const possible = heads
    .filter(({ place }) => place.sequence <= last)
    .sort((a, b) => b.place.sequence - a.place.sequence)
  for (const { place, head, isExact } of possible)
    if (isExact && (key === undefined || head.key === key) && (await judge.isWellSigned(head)))
      return ordered(file, lines, place, head.hash, judge)
  const [wrong] = possible
  return ordered(file, lines, wrong?.place ?? null, wrong?.head.hash, judge)
}

/** `hash` is that of the line at which the head ends. */
async function* ordered(
  file: string,
  lines: readonly Place[],
  head: Place | null,
  hash: string | undefined,
  judge: Judge,
): AsyncGenerator<Uint8Array> {
  const descriptor = openSync(file, 'r')
  const read = ({ start, length }: Place): Buffer => {
    const bytes = Buffer.alloc(length + 1, '\n')
    readSync(descriptor, bytes, 0, length, start)
    return bytes
  }
  try {
    let waiting: Candidate[][] = []
    for (const places of bySequence(lines)) {
      if (head !== null && (places[0]?.sequence ?? 0) > head.sequence) break
      const candidates = candidatesOf(places.map(read), judge)
      waiting.push(candidates)
      if (candidates.length > 1) continue
      yield* chain(waiting, undefined)
      waiting = []
    }
    yield* chain(waiting, hash)
    if (head !== null) yield read(head)
  } finally {
    closeSync(descriptor)
  }
}

function* bySequence(lines: readonly Place[]): Generator<Place[]> {
  let group: Place[] = []
  for (const place of lines) {
    if (group[0] !== undefined && group[0].sequence !== place.sequence) {
      yield group
      group = []
    }
    group.push(place)
  }
  if (group.length > 0) yield group
}

/** Repetitions are left out, and where one has the right hash, those that have not. */
function candidatesOf(texts: readonly Buffer[], { parseLine, isHashRight }: Judge): Candidate[] {
  const different = new Map(texts.map((bytes) => [bytes.toString('latin1'), bytes]))
  const all = [...different].flatMap(([text, bytes]) => {
    const value = parseLine(text.slice(0, -1))
    return value !== null && 'line' in value ? [{ bytes, value }] : []
  })
  const right = all.length > 1 ? all.filter(({ value }) => isHashRight(value)) : all
  return (right.length > 0 ? right : all).map(({ bytes, value: { line } }) => ({ bytes, line }))
}

/** Chooses from right lines of the same number the one that the next line follows, back from the end; all where none is. */
function* chain(waiting: readonly Candidate[][], end: string | undefined): Generator<Uint8Array> {
  let hash = end
  const chosen = waiting.toReversed().map((candidates) => {
    const following = candidates.filter(({ line }) => line.hash === hash)
    const those = following.length > 0 ? following : candidates
    hash = those[0]?.line.previous
    return those
  })
  for (const candidates of chosen.toReversed()) for (const { bytes } of candidates) yield bytes
}

/** Lines as Latin-1, so that characters are bytes; the JSON of the audit log is ASCII. */
function* textsIn(file: string): Generator<{ text: string; start: number }> {
  const descriptor = openSync(file, 'r')
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES)
    let rest = ''
    let start = 0
    for (let bytes = readSync(descriptor, chunk); bytes > 0; bytes = readSync(descriptor, chunk)) {
      const texts = (rest + chunk.toString('latin1', 0, bytes)).split('\n')
      rest = texts.pop() ?? ''
      if (rest.length > LINE_BYTES_MAX) throw new Failure(EXIT.refused, `${file} has a line of more than a megabyte`)
      for (const text of texts) {
        yield { text, start }
        start += text.length + 1
      }
    }
    if (rest !== '') yield { text: rest, start }
  } finally {
    closeSync(descriptor)
  }
}
