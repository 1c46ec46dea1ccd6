/** Finds words that GLOSSARY.md retires and prose that "Writing" in CONTRIBUTING.md rules out. Hints are counted only. */

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Paths that follow the rules. Add a folder when it is clean; remove none. One file is in German, of which no rule of English holds. */
const FINISHED =
  /^(?:(?:ARCHITECTURE|GLOSSARY|README|SECURITY)\.md|(?:boot|firmware(?!\/chat-page\/words\/de\.ts)|tools)\/|image\/|test\/(?!tools\/words))/

/** Concepts that both services have, each in its own form. */
const SHARED_TYPES = new Set(
  'Api ApiOptions Answer Attempt Auditor Declaration Method Migration NewUser Request Role Services StoreOptions User'.split(
    ' ',
  ),
)

export const TOKENS =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|(?<=[=(,:!&|?;[]\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g
const BRITISH =
  /\b(?:behaviour|colour|cancell(?:ed|ing)|labell(?:ed|ing)|licence|organis|recognis|initialis|synchronis|optimis|authoris|normalis|serialis|favour|honour|neighbour|centre|catalogue|grey|analys(?:e[ds]?|ing)\b|travell)/i
const RETIRED =
  /\b(?:actAdmitted|assertAdmitted|actAlone|ofThisRequest|AttemptLimiter|Tolerance|inSlices|inTurns|startRounds|StepSize|wipeLeftoversOfLocks|onEra|endEra|EtcdPatience|RestartPatience|takeRest|createJoint|openLife|receiveLives|ActsOut|ActsKept|CommitKeeper|CommitsKept|OutsideError|OutsideRequest|askFigures|sightOf|SenderSight|watchSight|reachOf|placeOf|InChannel|extraOf|messageForm|unreadForm|asMarking|forgetMarks|acquaintancesOf|blindTo|readLead|noParam|renParam|noVal|noEp)\b/g

const PROSE: readonly [rule: string, pattern: RegExp][] = [
  ['he, him, his', /\b(?:[Hh]e|[Hh]im|[Hh]is|[Hh]imself)\b/],
  ['whoever', /\b[Ww]hom?ever\b/],
  ['British spelling', BRITISH],
]
const CODE: typeof PROSE = [
  ...PROSE,
  ['doc comment begins with What, Of, ...', /^\/\*\*[\s*]*(?:What(?:ever)?|Of|Whoever|Those|That of|Whom|Whose)\b/],
  ['Design with a number', /\bDesign \d/i],
  ['number of a contract row', /^'[EV]\d{1,3}'$/],
]
const HINTS = /\b(?:nobody|somebody|is no|is none|those who|beside|is told|lies|of before|of now)\b/gi

/** `LINE: RULE: TEXT` for each finding: in a page anywhere, in a source file in comments and string literals. */
export function findings(path: string, text: string): string[] {
  const isPage = path.endsWith('.md')
  const lineOf = (index: number) => text.slice(0, index).split('\n').length
  const found: string[] = []
  for (const { 0: part, index } of text.matchAll(isPage ? /[^\n]+/g : TOKENS)) {
    if (!isPage && /^\/[^/*]/.test(part)) continue // a regular expression
    for (const [rule, pattern] of isPage ? PROSE : CODE) {
      const at = pattern.exec(part)?.index
      if (at !== undefined) found.push(`${lineOf(index + at)}: ${rule}: ${part.slice(at, at + 60).trim()}`)
    }
  }
  if (!isPage)
    for (const { 0: name, index } of text.matchAll(RETIRED)) found.push(`${lineOf(index)}: retired name: ${name}`)
  return found
}

/** Exported types that mean different things, by path. Tests may reuse names, and `client/` mirrors the API. */
export function ambiguousTypes(sources: ReadonlyMap<string, string>): string[] {
  const paths = new Map<string, string[]>()
  for (const [path, text] of sources)
    if (/\.tsx?$/.test(path) && !/^(?:test|firmware\/client|firmware\/console)\//.test(path))
      for (const [, name = ''] of text.matchAll(/^export (?:interface|type|class) (\w+)/gm))
        paths.set(name, [...(paths.get(name) ?? []), path])
  const ambiguous = [...paths].filter(([name, { length }]) => length > 1 && !SHARED_TYPES.has(name))
  return ambiguous.map(([name, at]) => `exported type with two meanings: ${name}: ${at.join(', ')}`)
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..')
  const paths = execFileSync('git', ['ls-files', '*.ts', '*.tsx', '*.md'], { cwd: root, encoding: 'utf8' }).trim()
  const sources = new Map(paths.split('\n').map((path) => [path, readFileSync(join(root, path), 'utf8')]))
  const all = process.argv.includes('--all')
  const isRead = (path: string) => path !== 'tools/words.ts' && (all || FINISHED.test(path))
  const read = [...sources].filter(([path]) => isRead(path))
  const errors = read.flatMap(([path, text]) => findings(path, text).map((finding) => `${path}:${finding}`))
  errors.push(...ambiguousTypes(sources))
  const hints = read.reduce((sum, [, text]) => sum + (text.match(HINTS)?.length ?? 0), 0)
  for (const error of errors) console.error(error)
  console.log(`words: ${errors.length} errors, ${hints} hints in ${all ? 'all' : 'finished'} folders`)
  if (errors.length > 0 && !all) process.exitCode = 1
}
