/**
 * Runs files of tests, so many at a time, in the order in which they are given. Prints a line as each file ends, and beneath it what
 * failed; at the end which files took longest, how busy the processors were, and for how long no file was left to begin. A file
 * that does not end is killed after a while, with the names of the tests that it was at: Node's own limits of time end tests, and
 * not what hangs outside of them.
 *
 * Usage: node tools/tests/group.ts JOB RESULTS. A line of RESULTS is written as each file ends, so that it is there whatever
 * becomes of this process.
 */

import { appendFileSync, readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { delimiter, dirname, join, relative, resolve } from 'node:path'
import { type EventData, run } from 'node:test'
import { inspect } from 'node:util'
import { childrenOf, commandLineOf } from '../../test/support/proc.ts'

export interface TestJob {
  files: string[]
  concurrency: number
  /** Files of this run in earlier groups, and in all of them. */
  before: number
  total: number
  isVerbose: boolean
}

export interface TestResult {
  file: string
  ms: number
  passed: number
  failed: number
  /** Counts tests that are marked as still to be met, whatever their outcome. */
  todo: number
  skipped: { name: string; reason: string }[]
  /** Names of tests that failed with what they say, in a line or a few. */
  failures: string[]
}

const ROOT = join(import.meta.dirname, '../..')
const SHOWN = 15
const TOLD_CHARACTERS = 1000
const DETAIL_CHARACTERS = 8000
const OUTPUT_CHARACTERS = 16_000
const NO_REPORT = 'of a file that told of no test: "npm test -- FILE" runs it alone'
const FILE_MINUTES = 20 // the longest takes half of that on a slow computer

interface UnderWay extends TestResult {
  startedMs: number
  tests: Set<string>
  limit: NodeJS.Timeout
  details: string[]
}

const [jobFile, resultsFile] = process.argv.slice(2) as [string, string]
const { files, concurrency, before, total, isVerbose }: TestJob = JSON.parse(readFileSync(jobFile, 'utf8'))

// Programs that tests start by the name `node` run on the pinned one.
process.env.PATH = [dirname(process.execPath), process.env.PATH].join(delimiter)
// Most of the time of a test file goes into compiling the same modules once more.
process.env.NODE_COMPILE_CACHE ??= join(ROOT, 'dist/test-compiled')

const startedMs = performance.now()
const startedBusyMs = processorMs()
let lastBeganMs = startedMs
let done = before
const took: { file: string; ms: number }[] = []
const underWay = new Map<string, UnderWay>()
/** Output of files, which Node hands over in the order of the files. */
const outputs = new Map<string, string>()

run({ files: files.map((file) => resolve(ROOT, file)), concurrency })
  .on('test:dequeue', (event) => {
    const file = fileOf(event)
    if (event.name === file) begin(file)
    else underWay.get(file)?.tests.add(event.name)
  })
  .on('test:complete', (event) => {
    const at = underWay.get(fileOf(event))
    if (at === undefined) return
    const isFile = event.name === fileOf(event)
    at.tests.delete(event.name)
    count(at, event, isFile)
    if (isFile) finish(at)
    else if (isVerbose) printTest(event)
  })
  .on('test:stdout', ({ file, message }) => note(file, message))
  .on('test:stderr', ({ file, message }) => note(file, message))
  .on('test:diagnostic', (event) => note(fileOf(event), `${event.message}\n`))
  .on('test:summary', ({ file, success }) => {
    if (!success) process.exitCode = 1
    if (file !== undefined) printOutput(file)
  })
  .on('end', report)
  .resume()

/** The file that is run. `file` of an event is where the test is written, which may be a module that the file imports. */
const fileOf = (event: { file?: string | undefined; entryFile?: string }): string => event.entryFile ?? event.file ?? ''

function begin(file: string): void {
  lastBeganMs = performance.now()
  underWay.set(file, {
    file: relative(ROOT, file),
    startedMs: performance.now(),
    ms: 0,
    passed: 0,
    failed: 0,
    todo: 0,
    skipped: [],
    failures: [],
    details: [],
    tests: new Set(),
    limit: setTimeout(kill, FILE_MINUTES * 60_000, file),
  })
}

function count(at: UnderWay, { name, details, skip, todo }: EventData.TestComplete, isFile: boolean): void {
  const error = details.error as Failure | undefined
  const isWhole = isFile || details.type === 'suite'
  if (error !== undefined && todo === undefined) {
    if (error.failureType === 'subtestsFailed' && (!isFile || at.failed > 0)) {
      if (!isWhole) at.failed++
      return // they are told
    }
    at.failed++
    const label = isFile ? 'the file itself' : name // it cannot be loaded, or ends with a code
    at.failures.push(`${label}: ${told(error)}`)
    at.details.push(`✖ ${label}`, indent(inspect(error.cause ?? error).slice(0, DETAIL_CHARACTERS)))
  } else if (isWhole) return
  else if (todo !== undefined) at.todo++
  else if (skip !== undefined) at.skipped.push({ name, reason: typeof skip === 'string' ? skip : '' })
  else at.passed++
}

function printTest({ name, nesting, details, skip, todo }: EventData.TestComplete): void {
  const sign = skip !== undefined ? '﹣' : details.passed ? '✔' : '✖'
  const reason = todo !== undefined ? ` # to do: ${todo}` : typeof skip === 'string' ? ` # ${skip}` : ''
  console.log(`${'  '.repeat(nesting)}${sign} ${name} (${seconds(details.duration_ms)} s)${reason}`)
}

function finish(at: UnderWay): void {
  clearTimeout(at.limit)
  at.ms = performance.now() - at.startedMs
  for (const [file, other] of underWay) if (other === at) underWay.delete(file)
  // A file that exits before its report is out, for want of a program: nothing of it has run.
  if (at.passed + at.failed + at.skipped.length + at.todo === 0) at.skipped.push({ name: '', reason: NO_REPORT })
  took.push(at)
  done++
  const { file, ms, passed, failed, todo, skipped, failures } = at
  appendFileSync(resultsFile, `${JSON.stringify({ file, ms, passed, failed, todo, skipped, failures })}\n`)
  const counts = [
    `${passed} passed`,
    failed > 0 && `${failed} failed`,
    skipped.length > 0 && `${skipped.length} skipped`,
    todo > 0 && `${todo} to do`,
  ]
  const width = String(total).length
  const number = `${String(done).padStart(width)} of ${total}`
  console.log(`${number} ${failed > 0 ? '✖' : '✔'} ${file}: ${counts.filter(Boolean).join(', ')} in ${seconds(ms)} s`)
  if (at.details.length > 0) console.log(indent(at.details.join('\n')))
}

function note(file: string | undefined, text: string): void {
  if (file) outputs.set(file, ((outputs.get(file) ?? '') + text).slice(-OUTPUT_CHARACTERS))
}

function printOutput(file: string): void {
  const output = outputs.get(file)
  outputs.delete(file)
  if (output !== undefined) console.log(`${relative(ROOT, file)} printed:\n${indent(output.trimEnd())}`)
}

function report(): void {
  for (const file of outputs.keys()) printOutput(file) // of those that ended without a summary
  const endedMs = performance.now()
  const busy = (processorMs() - startedBusyMs) / (endedMs - startedMs) / cpus().length
  console.log(
    `${took.length} files; the processors were busy for ${Math.round(busy * 100)} % of ${seconds(endedMs - startedMs)} s, ` +
      `the last ${seconds(endedMs - lastBeganMs)} s of them with what had begun. The longest:`,
  )
  for (const { file, ms } of took.sort((a, b) => b.ms - a.ms).slice(0, SHOWN))
    console.log(`${seconds(ms).padStart(7)} s  ${file}`)
}

interface Failure {
  message?: string
  cause?: Failure
  failureType?: string
}

/** Its message, once, and those of its causes: they come from another process, as plain objects in part. */
function told(failure: Failure): string {
  const said = new Set<string>()
  for (let at: Failure | undefined = failure; typeof at?.message === 'string'; at = at.cause)
    said.add(at.message.slice(0, TOLD_CHARACTERS))
  return [...said].join('; because: ')
}

function kill(file: string): void {
  const at = [...(underWay.get(file)?.tests ?? [])].join(', ') || 'none that it has told of'
  console.error(`${relative(ROOT, file)} has not ended within ${FILE_MINUTES} minutes. It is killed, and was at: ${at}`)
  for (const pid of childrenOf(process.pid))
    if (commandLineOf(pid).split('\0').includes(file)) process.kill(pid, 'SIGKILL')
}

const seconds = (ms: number): string => (ms / 1000).toFixed(1)
const indent = (text: string): string => text.replaceAll(/^(?=.)/gm, '    ')

/** Time that all processors have worked, for any program: killed programs leave no account of their own. */
function processorMs(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0)
}
