/**
 * Test files and their marks. The first line of a file may be `// @test KIND [SECONDS] [slow]`; without it the kind is short.
 * SECONDS orders the files and balances shares, and decides nothing else. `slow` behind them marks a file that also has a slow
 * form, which `--slow` runs; the kind slow has no other form.
 */

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const KINDS = ['short', 'long', 'device', 'slow'] as const
export type Kind = (typeof KINDS)[number]

export interface TestFile {
  /** Relative to the root. */
  path: string
  kind: Kind
  seconds: number
  hasSlowForm: boolean
}

const MARK = new RegExp(String.raw`^// @test (${KINDS.join('|')})(?: (\d+))?( slow)?$`)
const SHORT_SECONDS = 2 // half of the short files take less

export function testFiles(root: string): TestFile[] {
  const paths = globSync('test/**/*.test.ts', { cwd: root })
  return paths.map((path) => readMark(root, path)).sort(heaviestFirst)
}

export function readMark(root: string, path: string): TestFile {
  const [line = ''] = readFileSync(join(root, path), 'utf8').split('\n', 1)
  if (!line.startsWith('// @test')) return { path, kind: 'short', seconds: SHORT_SECONDS, hasSlowForm: false }
  const mark = MARK.exec(line)
  if (mark === null)
    throw new Error(`${path}: "${line}" must be "// @test KIND [SECONDS] [slow]", with a kind of ${KINDS.join(', ')}`)
  const [, kind, seconds = SHORT_SECONDS, slow] = mark
  return { path, kind: kind as Kind, seconds: Number(seconds), hasSlowForm: kind === 'slow' || slow !== undefined }
}

/**
 * Share `number`, from 1, of `count` shares of about the same weight. Each long and each device test is in one of them, short and slow
 * ones are in all. Each file, the heaviest first, is put into the share that is the lightest then.
 */
export function share(files: readonly TestFile[], number: number, count: number) {
  const leftOut = new Set<TestFile>()
  for (const kind of ['long', 'device'] as const) {
    const weights = Array<number>(count).fill(0)
    for (const file of files.filter((file) => file.kind === kind).sort(heaviestFirst)) {
      const lightest = weights.indexOf(Math.min(...weights))
      weights[lightest] = (weights[lightest] ?? 0) + file.seconds
      if (lightest !== number - 1) leftOut.add(file)
    }
  }
  return { mine: files.filter((file) => !leftOut.has(file)), leftOut: [...leftOut] }
}

export const heaviestFirst = (a: TestFile, b: TestFile): number => b.seconds - a.seconds || (a.path < b.path ? -1 : 1)

const NAME = /\b(?:test|it|describe|suite)\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/gs

/** Names of the tests in a file as they are written, templates unfilled: for a comparison of before and after. */
export const testNames = (source: string): string[] => Array.from(source.matchAll(NAME), ([, , name = '']) => name)
