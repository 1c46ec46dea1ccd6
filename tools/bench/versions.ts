/**
 * This version beside the one before, each with its own Node and packages: signatures and new keys a second over TLS, and the
 * processor time of each, under the same load in short rounds that take turns, so that a change of the machine's speed meets
 * both; then the memory that each has come to. All of that with several pairs of processes, one pair after the other: two
 * processes of one version differ by a tenth for as long as they run, by what the runtime has compiled and when. Fails when the
 * median of the paired ratios is below 0.97 for any of them. Needs wrk and git, and the network for packages that are not the
 * same.
 *
 * node tools/bench/versions.ts --before=HEAD~50 [--pairs=4] [--rounds=5] [--seconds=2] [--connections=16]
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { bundleCommit } from '../build-commit.ts'
import {
  ADMIN,
  bundleFor,
  cpuUs,
  createClient,
  expectSuccess,
  fillStore,
  isInstalled,
  KEYS,
  makeKeys,
  median,
  othersShare,
  quantile,
  residentMib,
  type Server,
  startCoffer,
  writeResults,
} from './harness.ts'
import { type Load, load, warmUp } from './wrk.ts'

const RATIO_MIN = 0.97
const CREATED = 1024 // keys in one round

const SIDES = ['now', 'before'] as const
type Side = (typeof SIDES)[number]

interface Sample {
  perSecond: number
  /** Processor time of all processes of the server, per request. */
  cpuUs: number
}

type Round = Record<Side, Sample>

interface Row {
  what: string
  rounds: number
  /** Medians. */
  now: Sample
  before: Sample
  /** Ratio of this version to the one before, over the rounds: first quartile, median, third quartile. */
  ratio: [low: number, middle: number, high: number]
  cpuRatio: [low: number, middle: number, high: number]
}

const { values: options } = parseArgs({
  options: {
    before: { type: 'string' },
    pairs: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '16' },
  },
})

const connections = Number(options.connections)

if (options.before === undefined) console.log('Left out, since --before names no version to compare with')
else if (!isInstalled('wrk')) console.log('Left out, since wrk makes the load: apt install wrk')
else await compare(options.before, Number(options.pairs), Number(options.rounds), Number(options.seconds))

async function compare(before: string, pairs: number, rounds: number, seconds: number): Promise<void> {
  const busyBefore = await othersShare()
  const directory = mkdtempSync(join(tmpdir(), 'coffer-bench-'))
  try {
    await bundleFor(join(directory, 'now'))
    const node = bundleCommit(before, join(directory, 'sources'), join(directory, 'before'))
    const rounded = new Map<string, Round[]>()
    const memories: Record<Side, number>[] = []
    for (let pair = 0; pair < pairs; pair++) {
      const order = pair % 2 === 0 ? SIDES : SIDES.toReversed()
      const { measured, residentMibs } = await comparePair(directory, node, order, rounds, seconds)
      for (const [what, more] of measured) rounded.set(what, [...(rounded.get(what) ?? []), ...more])
      memories.push(residentMibs)
    }
    const rows = [...rounded].map(([what, samples]) => rowOf(what, samples))
    for (const row of rows) print(row)
    const residentMibs = {
      now: median(memories.map(({ now }) => now)),
      before: median(memories.map(({ before }) => before)),
    }
    console.log(`memory, MiB: ${residentMibs.now.toFixed(0)} now, ${residentMibs.before.toFixed(0)} before`)
    writeResults('versions', {
      before,
      busyBefore,
      pairs,
      rounds,
      seconds,
      connections,
      ratioMin: RATIO_MIN,
      rows,
      residentMibs,
    })
    process.exitCode = rows.some(({ ratio }) => ratio[1] < RATIO_MIN) ? 1 : 0
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** New processes of both versions, with new data, begun in this order: what is begun first may have it better or worse. */
async function comparePair(
  directory: string,
  node: string,
  order: readonly Side[],
  rounds: number,
  seconds: number,
): Promise<{ measured: Map<string, Round[]>; residentMibs: Record<Side, number> }> {
  const started = new Map<Side, Server>()
  const data = mkdtempSync(join(directory, 'data-'))
  try {
    for (const side of order)
      started.set(side, await startFilled(directory, data, side, side === 'before' ? node : undefined))
    const servers = { now: started.get('now')!, before: started.get('before')! }
    const measured = new Map<string, Round[]>()
    // Of all kinds before any is measured: code that has seen one kind alone is compiled for that, which no server stays at.
    for (const key of KEYS) for (const side of order) await warmUp(servers[side], key, directory)
    for (const key of KEYS) {
      const signing = (server: Server) => load(server, key, connections, seconds, directory)
      measured.set(`signatures, ${key.id}`, await measure(servers, rounds, signing))
    }
    for (const side of order) await createKeys(servers[side])
    measured.set('new keys, ed25519', await measure(servers, rounds, createKeys))
    const memory = (side: Side) => servers[side].processes.reduce((sum, pid) => sum + residentMib(pid), 0)
    return { measured, residentMibs: { now: memory('now'), before: memory('before') } }
  } finally {
    await Promise.all(started.values().map((server) => server.stop()))
    rmSync(data, { recursive: true })
  }
}

async function startFilled(directory: string, data: string, side: Side, node?: string): Promise<Server> {
  const server = await startCoffer(join(directory, side), join(data, side), node)
  const { call, close } = createClient(server)
  await fillStore(call)
  await makeKeys(call)
  close()
  return server
}

type Done = Pick<Load, 'requestsPerSecond' | 'requests'>

async function measure(
  servers: Record<Side, Server>,
  rounds: number,
  run: (server: Server) => Promise<Done>,
): Promise<Round[]> {
  const measured: Round[] = []
  for (let round = 0; round < rounds; round++) {
    const samples: Partial<Round> = {}
    for (const side of round % 2 === 0 ? SIDES : SIDES.toReversed()) samples[side] = await sample(servers[side], run)
    measured.push(samples as Round)
  }
  return measured
}

function rowOf(what: string, rounds: Round[]): Row {
  const medians = (side: Side): Sample => ({
    perSecond: median(rounds.map((round) => round[side].perSecond)),
    cpuUs: median(rounds.map((round) => round[side].cpuUs)),
  })
  const quartiles = (of: keyof Sample): Row['ratio'] => {
    const ratios = rounds.map(({ now, before }) => now[of] / before[of])
    return [quantile(ratios, 0.25), quantile(ratios, 0.5), quantile(ratios, 0.75)]
  }
  return {
    what,
    rounds: rounds.length,
    now: medians('now'),
    before: medians('before'),
    ratio: quartiles('perSecond'),
    cpuRatio: quartiles('cpuUs'),
  }
}

async function sample(server: Server, run: (server: Server) => Promise<Done>): Promise<Sample> {
  const spent = () => server.processes.reduce((sum, pid) => sum + cpuUs(pid), 0)
  const before = spent()
  const { requestsPerSecond, requests } = await run(server)
  return { perSecond: requestsPerSecond, cpuUs: (spent() - before) / requests }
}

async function createKeys(server: Server): Promise<Done> {
  const { call, close } = createClient(server, connections)
  const key = { type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
  const startedMs = performance.now()
  await Promise.all(Array.from({ length: CREATED }, () => expectSuccess(call('POST', '/keys/generate', ADMIN, key))))
  const seconds = (performance.now() - startedMs) / 1000
  close()
  return { requestsPerSecond: CREATED / seconds, requests: CREATED }
}

function print({ what, rounds, now, before, ratio, cpuRatio }: Row): void {
  console.log(`${what}, medians of ${rounds} rounds:      now   before  ratio  (quartiles)`)
  for (const [figure, of, [low, middle, high]] of [
    ['a second             ', 'perSecond', ratio],
    ['processor, us of each', 'cpuUs', cpuRatio],
  ] as const) {
    const columns = [now[of], before[of]].map((number) => number.toFixed(0).padStart(8)).join(' ')
    console.log(`  ${figure} ${columns}  ${middle.toFixed(3)}  (${low.toFixed(3)} to ${high.toFixed(3)})`)
  }
}
