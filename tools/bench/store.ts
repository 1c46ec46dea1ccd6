/**
 * Cost of the store for the serving thread, in processor time, so that a busy computer gives the same result: an unlock of
 * 50,000 keys, and the longest turn while 100,000 counts are stored and a namespace of as many keys is removed. With --before,
 * unlocks of that version in rounds that take turns; fails where this one needs more than 5 % more, or a turn is too long.
 *
 * node tools/bench/store.ts [--before=HEAD~50] [--rounds=7] [--keys=50000] [--removed=100000]
 */

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { median, root, writeResults } from './harness.ts'

const RATIO_MAX = 1.05
const TURN_MS_MAX = { counts: 10, removal: 50 }

interface Opening {
  cold: number
  warm: number
}

const { values: options } = parseArgs({
  options: {
    before: { type: 'string' },
    rounds: { type: 'string', default: '7' },
    keys: { type: 'string', default: '50000' },
    removed: { type: 'string', default: '100000' },
  },
})

const directory = mkdtempSync(join(tmpdir(), 'coffer-bench-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))

const roots: Record<string, string> = { now: root }
if (options.before !== undefined) roots.before = sourcesOf(options.before)
for (const [side, sources] of Object.entries(roots)) step('fill', sources, side, options.keys)
const openings = Object.fromEntries(Object.keys(roots).map((side) => [side, [] as Opening[]]))
for (let round = 0; round < Number(options.rounds); round++)
  for (const [side, sources] of Object.entries(roots))
    openings[side]!.push(JSON.parse(step('open', sources, side, options.keys)) as Opening)

for (const which of ['cold', 'warm'] as const) {
  const middle = (side: string) => median(openings[side]!.map((opening) => opening[which]))
  const ratio = options.before === undefined ? null : middle('now') / middle('before')
  const compared = ratio === null ? '' : `, before ${middle('before').toFixed(0)} ms, ratio ${ratio.toFixed(3)}`
  console.log(`unlocking ${options.keys} keys, ${which}: ${middle('now').toFixed(0)} ms${compared}`)
  if (ratio !== null && ratio > RATIO_MAX) process.exitCode = 1
}

step('fill', root, 'removed', options.removed)
const turns = JSON.parse(step('turns', root, 'removed', options.removed)) as typeof TURN_MS_MAX
for (const what of ['counts', 'removal'] as const) {
  console.log(`longest turn of ${what}, ${options.removed} keys: ${turns[what].toFixed(1)} ms of ${TURN_MS_MAX[what]}`)
  if (turns[what] > TURN_MS_MAX[what]) process.exitCode = 1
}
writeResults('store', { ...options, openings, turns, ratioMax: RATIO_MAX, turnMsMax: TURN_MS_MAX })

function step(name: 'fill' | 'open' | 'turns', sources: string, side: string, keys: string): string {
  const data = join(directory, `${side}-data`)
  mkdirSync(data, { recursive: true })
  const program = join(root, 'tools/bench/store-child.ts')
  return execFileSync(process.execPath, [program, name, sources, data, keys], { encoding: 'utf8' })
}

function sourcesOf(commit: string): string {
  const [sources, archive] = [join(directory, 'sources'), join(directory, 'sources.tar')]
  mkdirSync(sources)
  execFileSync('git', ['archive', `--output=${archive}`, commit], { cwd: root })
  execFileSync('tar', ['--extract', `--file=${archive}`, `--directory=${sources}`])
  symlinkSync(join(root, 'node_modules'), join(sources, 'node_modules'))
  return sources
}
