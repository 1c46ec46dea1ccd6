/**
 * How long the command takes to start, beside an empty program of the same Node: processor time of both, in rounds that take
 * turns. `node tools/bench/command.ts [--rounds 12]`
 */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildCommand } from '../build-command.ts'
import { median, writeResults } from './harness.ts'

const STARTS = 5 // of a round, so that milliseconds are fine enough
const LINES = [[], ['--version'], ['help'], ['help', 'key', 'generate']]

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '12' } } })
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) throw new RangeError('--rounds: at least 1')

const directory = mkdtempSync(join(tmpdir(), 'coffer-bench-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
const [command, empty] = [join(directory, 'coffer.mjs'), join(directory, 'empty.mjs')]
writeFileSync(command, (await buildCommand()).text)
writeFileSync(empty, '')

const results = []
console.log('coffer ...          coffer ms   empty ms   ratio   (medians)')
for (const line of LINES) {
  const times: { coffer: number; empty: number }[] = []
  for (let round = 0; round < rounds; round++)
    times.push({ empty: processorMs([empty]), coffer: processorMs([command, ...line]) })
  const of = (name: 'coffer' | 'empty') => median(times.map((time) => time[name]))
  const ratio = median(times.map((time) => time.coffer / time.empty))
  const row = [of('coffer').toFixed(1).padStart(9), of('empty').toFixed(1).padStart(11), ratio.toFixed(2).padStart(8)]
  console.log(`${line.join(' ').padEnd(20)}${row.join('')}`)
  results.push({ line, ratio, times })
}
writeResults('command', { results })

function processorMs(line: string[]): number {
  const script = `TIMEFORMAT='%3U %3S'; { time for n in $(seq ${STARTS}); do "$@" > /dev/null; done; }`
  const text = execFileSync('bash', ['-c', `${script} 2>&1`, 'bash', process.execPath, ...line], { encoding: 'utf8' })
  const [user, system] = text.trim().split(' ').map(Number)
  return ((user! + system!) * 1000) / STARTS
}
