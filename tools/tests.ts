/**
 * Runs files of tests, so many at a time, in the order in which they are given: the longest first, or the others have ended
 * long before them. Says at the end which took longest, how busy the processors were, and for how long no file was left to
 * begin: where they idle, one more file at a time costs nothing. With `--left-out`, LIST gets the files in which a test was
 * skipped, a line each, for a computer with more programs to run them. What failed is told once more at the very end, in a few
 * lines. A file that does not end is killed after a while, with the names of the tests that it was at: Node's own limits of time
 * end tests, and not what hangs outside of them.
 */

import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { delimiter, dirname, join, relative, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { parseArgs } from 'node:util'
import { childrenOf, commandLineOf } from '../test/support/proc.ts'

const USAGE = 'usage: node tools/tests.ts [--left-out=LIST] CONCURRENCY FILE...'
const ROOT = join(import.meta.dirname, '..')
const SHOWN = 15
const TOLD_CHARACTERS = 1000
const FILE_MINUTES = 20 // the longest takes half of that on a slow computer

const { values, positionals } = parseArgs({ options: { 'left-out': { type: 'string' } }, allowPositionals: true })
const [concurrency, ...files] = positionals
if (!(Number(concurrency) > 0) || files.length === 0) {
  console.error(USAGE)
  process.exit(2)
}

// Programs that tests start by the name `node` run on the pinned one.
process.env.PATH = [dirname(process.execPath), process.env.PATH].join(delimiter)
// Of a file of tests, most of the time goes into reading the same modules once more.
process.env.NODE_COMPILE_CACHE ??= join(ROOT, 'dist/test-compiled')

const startedMs = performance.now()
const startedBusyMs = processorMs()
let lastBeganMs = startedMs
const took = new Map<string, number>()
const leftOut: string[] = []
const failures: string[] = []
/** Of files under way: names of tests that have begun and not ended. */
const underWay = new Map<string, { tests: Set<string>; limit: NodeJS.Timeout }>()
run({ files: files.map((file) => resolve(file)), concurrency: Number(concurrency) })
  .on('test:dequeue', ({ name, file }) => {
    if (name === file) begin(file)
    else if (file !== undefined) underWay.get(file)?.tests.add(name)
  })
  .on('test:complete', ({ name, file }) => {
    if (name === file) finish(file)
    else if (file !== undefined) underWay.get(file)?.tests.delete(name)
  })
  .on('test:fail', ({ name, file = '', details }) => {
    const failure = details.error as Failure
    if (failure.failureType === 'subtestsFailed') return // they are told
    const names = name === file ? [] : [name] // a file fails by itself when it cannot be loaded
    failures.push([relative(ROOT, file), ...names, told(failure)].join(': '))
  })
  .on('test:summary', ({ file, duration_ms, success, counts }) => {
    if (!success) process.exitCode = 1
    if (file === undefined) return // of all together
    took.set(relative(ROOT, file), duration_ms)
    if (counts.skipped > 0) leftOut.push(relative(ROOT, file))
  })
  .compose(new spec())
  .on('end', report)
  .pipe(process.stdout)

function report(): void {
  const list = values['left-out']
  if (list !== undefined) writeFileSync(list, `${leftOut.sort().join('\n')}\n`)
  const seconds = (ms: number) => (ms / 1000).toFixed(1).padStart(7)
  const longest = [...took].sort(([, a], [, b]) => b - a).slice(0, SHOWN)
  const endedMs = performance.now()
  const busy = (processorMs() - startedBusyMs) / (endedMs - startedMs) / cpus().length
  const lines = [
    `${took.size} files; the processors were busy for ${Math.round(busy * 100)} % of ${seconds(endedMs - startedMs).trim()} s, ` +
      `the last ${seconds(endedMs - lastBeganMs).trim()} s of them with what had begun. The longest:`,
    ...longest.map(([file, ms]) => `${seconds(ms)} s  ${file}`),
    ...failures.slice(0, SHOWN).map((failure) => `failed: ${failure}`),
  ]
  console.log(lines.join('\n'))
}

interface Failure {
  message?: string
  cause?: Failure
  failureType?: string
}

/** What it says, once, and what those say that caused it: they come from another process, as plain objects in part. */
function told(failure: Failure): string {
  const said = new Set<string>()
  for (let at: Failure | undefined = failure; typeof at?.message === 'string'; at = at.cause)
    said.add(at.message.slice(0, TOLD_CHARACTERS))
  return [...said].join('; because: ')
}

function begin(file: string): void {
  lastBeganMs = performance.now()
  underWay.set(file, { tests: new Set(), limit: setTimeout(kill, FILE_MINUTES * 60_000, file) })
}

function finish(file: string): void {
  clearTimeout(underWay.get(file)?.limit)
  underWay.delete(file)
}

function kill(file: string): void {
  const at = [...underWay.get(file)!.tests].join(', ') || 'none that it has told of'
  console.error(`${relative(ROOT, file)} has not ended within ${FILE_MINUTES} minutes. It is killed, and was at: ${at}`)
  for (const pid of childrenOf(process.pid))
    if (commandLineOf(pid).split('\0').includes(file)) process.kill(pid, 'SIGKILL')
}

/** Time that all processors have worked, whoever for: what was killed leaves no account of its own. */
function processorMs(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0)
}
