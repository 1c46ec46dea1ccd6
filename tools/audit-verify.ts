/**
 * Verifies an exported audit log without the appliance: finds lines that were changed, left out, added or reordered.
 * The chain is that of firmware/audit/chain.ts.
 */

import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { type AuditHead, type AuditLine, hashLine, isSigned } from '../firmware/audit/chain.ts'

const HELP = `Verifies an exported audit log.

  node tools/audit-verify.ts FILE [--key KEY] [--known NUMBER:HASH]...

FILE is what GET /api/v1/audit/export gave. Every line of it carries a SHA-256 hash over the line and the hash of the line
before, so a changed, missing or reordered line breaks the chain. That needs no secret; who can edit the file can also
compute the whole chain anew. What cannot be forged is its end: the appliance signs number and hash of the newest line.

  --key KEY            the appliance's public key (head.key of GET /api/v1/audit, noted once). Without it the signature
                       is checked with the key in the file, which shows nothing to those who do not know that key.
  --known NUMBER:HASH  a line noted earlier, e.g. sequence and hash of an older head: the file must hold just that line,
                       or begin after it. Shows that the log was not put back and written anew since.

Exit status: 0 when everything holds, 1 when something does not, 2 when the command is wrong.`

const PROBLEMS_MAX = 100 // then the file is beyond telling

export interface Expectations {
  key?: string
  known?: ReadonlyMap<number, string>
}

export interface Verdict {
  /** What does not hold, as sentences; empty when everything does. */
  problems: string[]
  head: AuditHead | null
  lines: number
}

/** Reads an export line by line; of what it holds nothing is kept. */
export async function verifyExport(texts: AsyncIterable<string>, { key, known }: Expectations = {}): Promise<Verdict> {
  const problems: string[] = []
  const gaps = createGaps()
  let head: AuditHead | null = null
  let first: number | null = null
  let last: { sequence: number; hash: string } | null = null
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
    const { sequence, hash, previous } = line
    if (hashOf(line) !== hash) problems.push(`Line ${sequence} was changed: its hash is another one.`)
    const noted = known?.get(sequence)
    if (noted !== undefined && noted !== hash) problems.push(`Line ${sequence} is not the one that was noted.`)
    if (last !== null && sequence <= last.sequence) {
      const what = gaps.fill(sequence) ? 'is not in its place' : 'is there twice or not in its place'
      problems.push(`Line ${sequence} ${what}: it comes after line ${last.sequence}.`)
      return
    }
    if (last !== null && sequence > last.sequence + 1) gaps.add(last.sequence + 1, sequence - 1)
    else if (last !== null && previous !== last.hash)
      problems.push(`Line ${sequence} does not follow line ${last.sequence}: one of them was replaced.`)
    first ??= sequence
    last = { sequence, hash }
  }

  problems.push(
    ...gaps.list().map(([from, to]) => `Missing: ${from === to ? `line ${from}` : `lines ${from} to ${to}`}.`),
  )
  problems.push(...judgeEnds(head, first, last, key))
  for (const number of known?.keys() ?? [])
    if (head !== null && number > head.sequence) problems.push(`Line ${number} was noted, the log ends before it.`)
  const span = last as { sequence: number } | null
  return { problems, head, lines: span === null ? 0 : span.sequence - first! + 1 }
}

function judgeEnds(
  head: AuditHead | null,
  first: number | null,
  last: { sequence: number; hash: string } | null,
  key: string | undefined,
): string[] {
  if (head === null) return ['The end is missing: the file has no head.']
  const problems: string[] = []
  if (!isSigned(head)) problems.push('The signature of the head is wrong.')
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

function parse(text: string): AuditLine | { head: AuditHead } | null {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return null
    if ('head' in value)
      return typeof value.head === 'object' && value.head !== null ? (value as { head: AuditHead }) : null
    const { sequence, previous, hash } = value as Partial<AuditLine>
    const isLine = Number.isSafeInteger(sequence) && isHash(previous) && isHash(hash)
    return isLine ? (value as AuditLine) : null
  } catch {
    return null
  }
}

const isHash = (value: unknown): boolean => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)

/** The members come back in the order they have in the file, which is that in which they were hashed. */
function hashOf({ previous, hash: _, ...rest }: AuditLine): string {
  return hashLine(previous, JSON.stringify(rest))
}

/** Numbers that were passed over and may still come. */
function createGaps() {
  let gaps: [from: number, to: number][] = []
  return {
    list: () => gaps,
    add: (from: number, to: number): void => void gaps.push([from, to]),
    /** False when the number was in no gap. */
    fill(number: number): boolean {
      const gap = gaps.find(([from, to]) => from <= number && number <= to)
      if (gap === undefined) return false
      const [from, to] = gap
      const rest: [number, number][] = [
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
  const { problems, head, lines } = await verifyExport(texts, expectations)
  for (const problem of problems) console.log(problem)
  if (problems.length > 0) return 1
  console.log(`${lines} lines, ${head!.first} to ${head!.sequence}, nothing changed, missing or reordered.`)
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
