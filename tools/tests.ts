/**
 * Runs the tests: `npm test -- --help`. What a file is, its first line says: tools/tests/marks.ts. Files run in groups, one after
 * another whatever failed before, each within its bound of time (tools/bounded.ts). At the end: what was skipped and why, what
 * failed, and the sums.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { defined } from '../firmware/base/defined.ts'
import type { TestJob, TestResult } from './tests/group.ts'
import { heaviestFirst, KINDS, readMark, share, type TestFile, testFiles, testNames } from './tests/marks.ts'
import { secondsOfChildren } from './tests/processor-time.ts'
import { summary } from './tests/summary.ts'

const HELP = `usage: npm test -- [OPTION]... [FILE|FOLDER]...

Without an option: the short tests, those of the parts of an image, and one life of a device.
With a file, that file; with a folder, its tests of the kinds that are asked for.

  --short --long --device  tests of these kinds
  --share N/M              of the long and the device tests, the Nth of M shares of about the same weight
  --slow                   tests that have a slow form, in that form: hours
  --skipped LIST           writes the files in which a test was skipped to LIST
  --also LIST              also runs the files in LIST
  --inspect FILE           runs one file, which waits for a debugger before its first line
  --names [FOLDER]         runs nothing, and prints the names of the tests
  --list                   runs nothing, and prints the files that would run
`
const ROOT = join(import.meta.dirname, '..')
const VERBOSE_MAX = 3 // files, of which each test has its line
const FUZZ_SECONDS = '600' // of each fuzzer, in its slow form

const INTERRUPTIONS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

let isInterrupted = false

interface Group {
  files: TestFile[]
  concurrency: number
  minutes: number
  environment?: Record<string, string>
}

type Options = ReturnType<typeof parse>['values']

const parse = () =>
  parseArgs({
    allowPositionals: true,
    options: {
      short: { type: 'boolean', default: false },
      long: { type: 'boolean', default: false },
      device: { type: 'boolean', default: false },
      slow: { type: 'boolean', default: false },
      share: { type: 'string' },
      skipped: { type: 'string' },
      also: { type: 'string' },
      inspect: { type: 'boolean', default: false },
      names: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })

async function main(): Promise<number> {
  const { values, positionals } = parse()
  if (values.help) return print(HELP)
  if (values.names) return printNames(positionals)
  if (values.inspect) return inspectFile(positionals)
  const { files, leftOut } = select(values, positionals)
  if (values.list) return print(files.map(({ path }) => path).join('\n'))
  const groups = values.slow ? slowGroups(files) : groupsOf(files)
  return runAll(groups, values.skipped, leftOut.length === 0 ? [] : linesOfLeftOut(values, positionals, leftOut))
}

function select(options: Options, places: readonly string[]): { files: TestFile[]; leftOut: TestFile[] } {
  const named = places.map((place) =>
    existsSync(place) ? relative(ROOT, resolve(place)) : fail(`There is no ${place}`),
  )
  const known = testFiles(ROOT)
  const others = named.filter((path) => !isIn(known, path) && statSync(join(ROOT, path)).isFile())
  const isPlain = !KINDS.some((kind) => options[kind])
  const isAsked = (file: TestFile) =>
    options.slow ? file.hasSlowForm : options[file.kind] || (isPlain && file.kind === 'short')
  const isBelow = ({ path }: TestFile) =>
    named.length === 0 || named.some((place) => place === '' || path === place || path.startsWith(`${place}/`))
  // A file stands for itself, whatever its kind, unless kinds are asked for.
  const chosen = [...known, ...others.map((path) => readMark(ROOT, path))].filter(
    (file) => (isPlain && named.includes(file.path)) || (isAsked(file) && isBelow(file)),
  )
  const [number = 0, count = 0] = (/^(\d+)\/(\d+)$/.exec(options.share ?? '1/1') ?? []).slice(1).map(Number)
  if (number < 1 || number > count) fail(`--share ${options.share} must be N/M, with N from 1 to M`)
  const { mine, leftOut } = share(chosen, number, count)
  const also = options.also === undefined ? [] : linesOf(options.also).map((path) => readMark(ROOT, path))
  const files = [...mine, ...also.filter(({ path }) => !isIn(mine, path))].sort(heaviestFirst)
  if (files.length === 0) fail('There is no such test. "npm test -- --help" lists the options.')
  return { files, leftOut: leftOut.filter(({ path }) => !isIn(also, path)) }
}

const isIn = (files: readonly TestFile[], path: string): boolean => files.some((file) => file.path === path)
const linesOf = (path: string): string[] => readFileSync(path, 'utf8').split('\n').filter(Boolean)

/** Nothing runs beside these: a test of the image prints times, and browsers end their requests when an interface is added. */
const ALONE = ['test/image/', 'test/chat/network/']

/** Each test of a device keeps about one core busy. */
function groupsOf(files: readonly TestFile[]): Group[] {
  const isDevice = ({ kind }: TestFile) => kind === 'device' || kind === 'slow'
  const isAlone = (file: TestFile) => !isDevice(file) && ALONE.some((folder) => file.path.startsWith(folder))
  return [
    // Two files more at a time than the smallest computer has cores: those that kill, time out or ask another program mostly wait.
    { files: files.filter((file) => !isDevice(file) && !isAlone(file)), concurrency: 4, minutes: 120 },
    { files: files.filter(isAlone).sort(byPath), concurrency: 1, minutes: 30 },
    { files: files.filter(isDevice), concurrency: 2, minutes: 120 },
  ]
}

const byPath = (a: TestFile, b: TestFile): number => (a.path < b.path ? -1 : 1)

/** Three devices in a cluster are alone on the computer. */
function slowGroups(files: readonly TestFile[]): Group[] {
  const environment = { COFFER_SLOW: '1', COFFER_FUZZ_SECONDS: FUZZ_SECONDS }
  const isImage = ({ path }: TestFile) => path.startsWith('test/image/')
  return [
    { files: files.filter((file) => !isImage(file)), concurrency: 2, minutes: 240, environment },
    { files: files.filter(isImage), concurrency: 1, minutes: 90, environment },
  ]
}

async function runAll(groups: readonly Group[], skippedList: string | undefined, lines: string[]): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-tests-'))
  const total = groups.reduce((sum, { files }) => sum + files.length, 0)
  const results: TestResult[] = []
  let status = 0
  try {
    for (const group of groups.filter(({ files }) => files.length > 0)) {
      const { files, ended } = await runGroup(group, directory, results.length, total)
      results.push(...files)
      status ||= ended
      for (const { path } of group.files)
        if (!files.some(({ file }) => file === path)) console.log(`failed: ${path}: it has not ended`)
      if (isInterrupted) break
    }
  } finally {
    rmSync(directory, { recursive: true })
  }
  if (skippedList !== undefined) {
    const paths = results.filter(({ skipped }) => skipped.length > 0).map(({ file }) => file)
    writeFileSync(
      skippedList,
      paths
        .sort()
        .map((path) => `${path}\n`)
        .join(''),
    )
  }
  const processor = `Processor seconds: ${secondsOfChildren().toFixed(1)}`
  console.log([...lines, processor, ...summary(results)].join('\n'))
  return status || (results.length < total ? 1 : 0)
}

async function runGroup(
  { files, concurrency, minutes, environment }: Group,
  directory: string,
  before: number,
  total: number,
): Promise<{ files: TestResult[]; ended: number }> {
  const [job, results] = [join(directory, 'job'), join(directory, 'results')]
  writeFileSync(
    job,
    JSON.stringify({
      files: files.map(({ path }) => path),
      concurrency,
      before,
      total,
      isVerbose: total <= VERBOSE_MAX,
    } satisfies TestJob),
  )
  writeFileSync(results, '')
  const program = (name: string) => join(import.meta.dirname, name)
  const line = [program('bounded.ts'), String(minutes), process.execPath, program('tests/group.ts'), job, results]
  const child = spawn(process.execPath, line, { stdio: 'inherit', env: { ...process.env, ...environment } })
  const interrupt = (signal: NodeJS.Signals) => {
    isInterrupted = true
    if (signal !== 'SIGINT') child.kill(signal) // SIGINT of a terminal comes to both
  }
  for (const signal of INTERRUPTIONS) process.on(signal, interrupt)
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  for (const signal of INTERRUPTIONS) process.off(signal, interrupt)
  return {
    files: linesOf(results).map((text) => JSON.parse(text)),
    ended: code ?? 128 + constants.signals[defined(signal)],
  }
}

function linesOfLeftOut({ share, long, device }: Options, places: string[], leftOut: readonly TestFile[]): string[] {
  const [number, count] = defined(share).split('/').map(Number) as [number, number]
  const what = [long && '--long', device && '--device', ...places].filter(Boolean).join(' ')
  const others = Array.from({ length: count }, (_, index) => index + 1).filter((other) => other !== number)
  return [
    `Left out, as this was share ${share}: ${leftOut.length} files`,
    ...leftOut.map(({ path, kind }) => `  ${kind.padEnd(6)} ${path}`),
    'These commands run them:',
    ...others.map((other) => `  npm test -- ${what} --share ${other}/${count}`),
  ]
}

function printNames(places: readonly string[]): number {
  const top = places[0] ?? ROOT
  const lines = testFiles(top).flatMap(({ path }) =>
    testNames(readFileSync(join(top, path), 'utf8')).map((name) => `${path}: ${name.replaceAll('\n', '\\n')}\n`),
  )
  return print(lines.sort().join(''))
}

async function inspectFile(places: readonly string[]): Promise<number> {
  const [file, ...more] = places
  if (file === undefined || more.length > 0) return fail('--inspect takes one file')
  const child = spawn(process.execPath, ['--inspect-brk', file], { stdio: 'inherit' })
  process.on('SIGINT', () => {})
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}

function print(text: string): number {
  process.stdout.write(text)
  return 0
}

class UsageError extends Error {}

function fail(message: string): never {
  throw new UsageError(message)
}

try {
  process.exitCode = await main()
} catch (error) {
  const isUsage = error instanceof UsageError || (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS')
  if (!isUsage) throw error
  console.error((error as Error).message)
  process.exitCode = 2
}
