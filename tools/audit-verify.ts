/**
 * Verifies an exported audit log without the appliance: finds lines that were changed, left out, added or reordered.
 * The chain is that of firmware/audit/chain.ts.
 */

import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { type AuditHead, type AuditLine, hashLine, isSigned, KINDS, type Kind } from '../firmware/audit/chain.ts'

const HELP = `Verifies an exported audit log.

  node tools/audit-verify.ts FILE [--key KEY] [--known NUMBER:HASH]...

FILE is what GET /api/v1/audit/export gave. Every line of it carries a SHA-256 hash over the line, the hash of the line
before and that of the line of its kind before, so a changed, missing or reordered line breaks a chain. That needs no
secret; who can edit the file can also compute the whole chain anew. What cannot be forged is its end: the appliance
signs number and hash of the newest line, of each kind, too, and the number of the oldest that it keeps.

Changes, refusals and uses of keys each have a ring of their own. Lines that are missing because their ring has
overwritten them are counted; any other that is missing is a problem.

  --key KEY            the appliance's public key (head.key of GET /api/v1/audit, noted once). Without it the signature
                       is checked with the key in the file, which shows nothing to those who do not know that key.
  --known NUMBER:HASH  a line noted earlier, e.g. sequence and hash of an older head: the file must hold just that line,
                       or tell that it was overwritten. Shows that the log was not put back and written anew since.

Exit status: 0 when everything holds, 1 when something does not, 2 when the command is wrong.`

const PROBLEMS_MAX = 100 // then the file is beyond telling

export interface Expectations {
  key?: string
  known?: ReadonlyMap<number, string>
}

export interface Verdict {
  /** What does not hold, as sentences; empty when everything does. */
  problems: string[]
  /** What nothing can be said of: lines that were noted and are overwritten. */
  notes: string[]
  head: AuditHead | null
  /** How many there are, and how many were overwritten between them. */
  lines: number
  overwritten: number
}

/** The first and the last line of a kind in the file. */
interface Span {
  first: number
  last: number
  /** Of the last line. */
  hash: string
}

/** Reads an export line by line; of what it holds nothing is kept but where something is missing. */
export async function verifyExport(texts: AsyncIterable<string>, { key, known }: Expectations = {}): Promise<Verdict> {
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

  for await (const text of texts) {
    place++
    if (problems.length >= PROBLEMS_MAX) break
    if (head !== null) {
      problems.push('There are lines behind the head.')
      break
    }
    const value = parse(text)
    if (value === null) problems.push(`Line ${place} of the file is no line of an audit log.`)
    else if ('head' in value) head = value.head
    else take(value)
  }

  function take(line: AuditLine): void {
    const { sequence, hash, previous, previousOfKind, kind = 'change' } = line
    if (hashOf(line) !== hash) problems.push(`Line ${sequence} was changed: its hash is another one.`)
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
    const isLinked = span === undefined || (previousOfKind ?? previous) === span.hash
    if (follows && !isLinked) breaks.push({ kind, from: span!.last, to: sequence })
    // What is older than the kinds comes before the first line of each of them.
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

  const { missing, overwritten } = judgeGaps(gaps.list(), head)
  problems.push(...missing.map(([from, to]) => `Missing: ${from === to ? `line ${from}` : `lines ${from} to ${to}`}.`))
  for (const { kind, from, to } of breaks)
    if (!missing.some(([a, b]) => a > from && b < to))
      problems.push(`Line ${to} does not follow line ${from}, the ${kind} before it: one was left out or replaced.`)
  problems.push(...judgeEnds(head, first, last, key))
  if (problems.length === 0) problems.push(...judgeRings(head!, spans))
  const notes: string[] = []
  for (const number of unseen.keys()) {
    if (head !== null && number > head.sequence) problems.push(`Line ${number} was noted, the log ends before it.`)
    else notes.push(`Line ${number} was noted and has been overwritten: nothing can be said of it.`)
  }
  return { problems, notes, head, lines, overwritten }
}

/** A missing line may have been overwritten when some kind has lost lines up to there; its chain tells if it has. */
function judgeGaps(gaps: readonly Gap[], head: AuditHead | null): { missing: Gap[]; overwritten: number } {
  const firsts = KINDS.map((kind) => head?.rings?.[kind]?.first ?? 0)
  const bound = Math.max(...firsts)
  const missing = gaps.map(([from, to]): Gap => [Math.max(from, bound), to]).filter(([from, to]) => from <= to)
  const overwritten = gaps.map(([from, to]) => Math.max(0, Math.min(to + 1, bound) - from))
  return { missing, overwritten: overwritten.reduce((a, b) => a + b, 0) }
}

function judgeEnds(
  head: AuditHead | null,
  first: number | null,
  last: { sequence: number; hash: string } | null,
  key: string | undefined,
): string[] {
  if (head === null) return ['The end is missing: the file has no head.']
  const problems: string[] = []
  if (!isWellSigned(head)) problems.push('The signature of the head is wrong.')
  if (key !== undefined && head.key !== key) problems.push('The head is signed with another key than the one given.')
  if (first !== null && first !== head.first) {
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

/** With the ends that were signed, what is linked between them is what the appliance keeps of a kind, and all of it. */
function judgeRings({ rings }: AuditHead, spans: Partial<Record<Kind, Span>>): string[] {
  if (rings === undefined) return []
  return KINDS.flatMap((kind) => {
    const { first, sequence, hash } = rings[kind]
    const span = spans[kind] ?? { first: 0, last: 0, hash }
    if (span.first !== first)
      return [`The head begins at line ${first} for each ${kind}, the file at line ${span.first}.`]
    if (span.last !== sequence)
      return [`The head ends at line ${sequence} for each ${kind}, the file at line ${span.last}.`]
    return span.hash === hash ? [] : [`Line ${sequence} is not the ${kind} that was signed.`]
  })
}

/** Of a head that comes from anywhere. */
function isWellSigned(head: AuditHead): boolean {
  try {
    return isSigned(head)
  } catch {
    return false
  }
}

function parse(text: string): AuditLine | { head: AuditHead } | null {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return null
    if ('head' in value)
      return typeof value.head === 'object' && value.head !== null ? (value as { head: AuditHead }) : null
    const { sequence, kind, previous, previousOfKind, hash } = value as Partial<AuditLine>
    const isOfKind = kind === undefined ? previousOfKind === undefined : KINDS.includes(kind) && isHash(previousOfKind)
    const isLine = Number.isSafeInteger(sequence) && isOfKind && isHash(previous) && isHash(hash)
    return isLine ? (value as AuditLine) : null
  } catch {
    return null
  }
}

const isHash = (value: unknown): boolean => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)

/** The members come back in the order they have in the file, which is that in which they were hashed. */
function hashOf({ previous, previousOfKind = '', hash: _, ...rest }: AuditLine): string {
  return hashLine(previous, previousOfKind, JSON.stringify(rest))
}

type Gap = [from: number, to: number]

/** Numbers that were passed over and may still come. */
function createGaps() {
  let gaps: Gap[] = []
  return {
    list: () => gaps,
    add: (from: number, to: number): void => void gaps.push([from, to]),
    /** False when the number was in no gap. */
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

async function main(): Promise<number> {
  const { file, expectations } = readArguments()
  if (file === undefined) return 2
  const texts = createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })
  const { problems, notes, head, lines, overwritten } = await verifyExport(texts, expectations)
  for (const sentence of [...problems, ...notes]) console.log(sentence)
  if (problems.length > 0) return 1
  const between = overwritten === 0 ? '' : ` (${overwritten} between them were overwritten)`
  console.log(`${lines} lines, ${head!.first} to ${head!.sequence}${between}, nothing changed, missing or reordered.`)
  console.log(`Signed ${head!.time} with key ${head!.key}.`)
  if (expectations.key === undefined)
    console.log('Compare the key with head.key of GET /api/v1/audit, or give it with --key.')
  return 0
}

function readArguments(): { file?: string; expectations: Expectations } {
  try {
    const { positionals, values } = parseArgs({
      allowPositionals: true,
      options: { key: { type: 'string' }, known: { type: 'string', multiple: true }, help: { type: 'boolean' } },
    })
    const known = new Map((values.known ?? []).map(readKnown))
    const { key } = values
    if (key !== undefined && !isHash(key)) throw new Error(`--key: not 64 hex digits: ${key}`)
    if (positionals.length !== 1 || values.help) throw new Error(HELP)
    return { file: positionals[0]!, expectations: { known, ...(key !== undefined && { key }) } }
  } catch (error) {
    console.error((error as Error).message)
    return { expectations: {} }
  }
}

function readKnown(text: string): [number, string] {
  const match = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text)
  if (match === null) throw new Error(`--known: not NUMBER:HASH: ${text}`)
  return [Number(match[1]), match[2]!]
}

if (import.meta.main) process.exitCode = await main()
