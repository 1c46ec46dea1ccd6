/**
 * The whole appliance: signatures a second over TLS connections that are kept, from one to 256 of them, beside the same
 * program signing with node:crypto and beside a bare server (bare.ts), all in turn, with the load made on the same
 * cores. Then signing while RSA keys are made. Needs wrk.
 *
 * node tools/bench/appliance.ts [--rounds=3] [--seconds=5] [--connections=1,4,16,64,256]
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  ADMIN,
  type BenchKey,
  bundleFor,
  cpuUs,
  createClient,
  fillStore,
  isInstalled,
  KEYS,
  mainThreadUs,
  makeKeys,
  median,
  othersShare,
  residentMib,
  type Server,
  startBare,
  startCoffer,
  writeResults,
} from './harness.ts'
import { load, warmUp } from './wrk.ts'

/**
 * At 64 connections: what must be reached of the node:crypto server (RSA) and of the bare one. Those of the bare server are
 * for a machine where it answers 25,000 requests a second (8,000 of them, p99 in 20 ms) and its thread takes 22 us for each,
 * Coffer's 45, and hold for others in proportion.
 */
const FLOORS = {
  connections: 64,
  ofNodeCrypto: { rsa2048: 0.5 },
  ofBare: { ed25519: 0.32, p256: 0.32 },
  p99: { ms: 20, bareRequestsPerSecond: 25_000 },
  mainThreadOfBareMax: { p256: 45 / 22 },
  residentMibMax: 220,
}

const GENERATED_BITS = 4096
const GENERATING_CLIENTS = 4

interface Sample {
  requestsPerSecond: number
  p50Ms: number
  p99Ms: number
  cpuUs: number
  mainThreadUs: number
  residentMib: number
}

type Kind = 'coffer' | 'nodeCrypto' | 'bare'

interface Row extends Sample {
  server: Kind
  key: string
  connections: number
  /** Requests a second against those of another server in the same round, medians. */
  ofNodeCrypto?: number
  ofBare?: number
  /** Processor time of the thread that serves against that of the bare server's, median of the rounds. */
  mainThreadOfBare?: number
  p99MsMax?: number
}

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '1,4,16,64,256' },
  },
})
const rounds = Number(options.rounds)
const seconds = Number(options.seconds)
const connectionCounts = options.connections.split(',').map(Number)

if (isInstalled('wrk')) await measureAll()
else console.log('Left out, since wrk makes the load: apt install wrk')

async function measureAll(): Promise<void> {
  const busyBefore = await othersShare()
  const directory = mkdtempSync(join(tmpdir(), 'coffer-bench-'))
  const servers: Partial<Record<Kind, Server>> = {}
  try {
    await bundleFor(join(directory, 'coffer'))
    await bundleFor(join(directory, 'nodeCrypto'), { nodeCrypto: true })
    for (const kind of ['coffer', 'nodeCrypto'] as const) {
      servers[kind] = await startCoffer(join(directory, kind), join(directory, `${kind}-data`))
      const { call, close } = createClient(servers[kind])
      await fillStore(call)
      await makeKeys(call)
      close()
    }
    servers.bare = await startBare()
    const started = servers as Record<Kind, Server>
    for (const server of Object.values(started)) {
      for (const key of server === started.bare ? [KEYS[0]] : KEYS) await warmUp(server, key, directory)
    }
    const rows: Row[] = []
    for (const connections of connectionCounts) rows.push(...(await measureAt(started, connections, directory)))
    const whileGenerating = await measureGenerating(started.coffer, directory)
    writeResults('appliance', { busyBefore, seconds, rounds, floors: FLOORS, rows, whileGenerating })
  } finally {
    await Promise.all(Object.values(servers).map((server) => server.stop()))
    rmSync(directory, { recursive: true, force: true })
  }
}

async function measureAt(servers: Record<Kind, Server>, connections: number, directory: string): Promise<Row[]> {
  const samples = new Map<string, Sample[]>()
  const at = (kind: Kind, key: BenchKey): Sample[] => {
    const name = `${kind} ${key.id}`
    if (!samples.has(name)) samples.set(name, [])
    return samples.get(name)!
  }
  for (let round = 0; round < rounds; round++) {
    const bare = await sample(servers.bare, KEYS[0], connections, directory) // whatever the key is called
    for (const key of KEYS) {
      at('bare', key).push(bare)
      for (const kind of ['coffer', 'nodeCrypto'] as const) {
        at(kind, key).push(await sample(servers[kind], key, connections, directory))
      }
    }
  }
  const rows = KEYS.flatMap((key) => {
    const ratioTo = (other: Kind, of: keyof Sample = 'requestsPerSecond') =>
      median(at('coffer', key).map((own, round) => own[of] / at(other, key)[round]![of]))
    return (['bare', 'coffer', 'nodeCrypto'] as const).map((server): Row => {
      const row = { server, key: key.id, connections, ...medians(at(server, key)) }
      if (server !== 'coffer') return row
      const bare = median(at('bare', key).map((one) => one.requestsPerSecond))
      const p99MsMax = (FLOORS.p99.ms * FLOORS.p99.bareRequestsPerSecond) / bare
      const mainThreadOfBare = ratioTo('bare', 'mainThreadUs')
      return { ...row, ofNodeCrypto: ratioTo('nodeCrypto'), ofBare: ratioTo('bare'), mainThreadOfBare, p99MsMax }
    })
  })
  print(connections, rows)
  return rows
}

async function sample(server: Server, key: BenchKey, connections: number, directory: string): Promise<Sample> {
  const spent = () =>
    [server.processes.reduce((sum, pid) => sum + cpuUs(pid), 0), mainThreadUs(server.listener)] as const
  const [cpuBefore, mainBefore] = spent()
  const { requests, ...measured } = await load(server, key, connections, seconds, directory)
  const [cpuAfter, mainAfter] = spent()
  return {
    ...measured,
    cpuUs: (cpuAfter - cpuBefore) / requests,
    mainThreadUs: (mainAfter - mainBefore) / requests,
    residentMib: residentMib(server.listener),
  }
}

function medians(samples: readonly Sample[]): Sample {
  const of = (name: keyof Sample) => median(samples.map((one) => one[name]))
  return {
    requestsPerSecond: of('requestsPerSecond'),
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
    cpuUs: of('cpuUs'),
    mainThreadUs: of('mainThreadUs'),
    residentMib: of('residentMib'),
  }
}

function print(connections: number, rows: readonly Row[]): void {
  console.log(
    `\n${connections} connections        requests/s   p50 ms   p99 ms   CPU us  of it main thread   MiB   of node:crypto   of bare`,
  )
  for (const row of rows) {
    const { server, key, ofNodeCrypto, ofBare } = row
    const numbers = [
      row.requestsPerSecond.toFixed(0).padStart(10),
      row.p50Ms.toFixed(2).padStart(9),
      row.p99Ms.toFixed(2).padStart(9),
      row.cpuUs.toFixed(0).padStart(9),
      row.mainThreadUs.toFixed(0).padStart(18),
      row.residentMib.toFixed(0).padStart(7),
      (ofNodeCrypto?.toFixed(2) ?? '').padStart(16),
      (ofBare?.toFixed(2) ?? '').padStart(10),
    ].join('')
    console.log(`${key.padEnd(9)}${server.padEnd(12)}${numbers}${missed(row)}`)
  }
}

/** Describes a value below its floor or above its bound. Empty at other numbers of connections. */
function missed(row: Row): string {
  const { server, key, connections, ofNodeCrypto = 1, ofBare = 1, mainThreadOfBare = 0, p99Ms, p99MsMax = 0 } = row
  if (server !== 'coffer' || connections !== FLOORS.connections) return ''
  const of = (bounds: Readonly<Record<string, number>>) => bounds[key]
  const low = ofNodeCrypto < (of(FLOORS.ofNodeCrypto) ?? 0) || ofBare < (of(FLOORS.ofBare) ?? 0)
  const slow = key in FLOORS.ofBare && p99Ms > p99MsMax
  const busy = mainThreadOfBare > (of(FLOORS.mainThreadOfBareMax) ?? Infinity)
  return [
    low && 'below its floor',
    slow && `p99 above ${p99MsMax.toFixed(1)} ms`,
    busy && `main thread ${mainThreadOfBare.toFixed(2)} of bare`,
    row.residentMib > FLOORS.residentMibMax && `above ${FLOORS.residentMibMax} MiB`,
  ]
    .filter(Boolean)
    .map((text) => `  ${text}`)
    .join('')
}

interface WhileGenerating {
  key: string
  alone: Sample
  generating: Sample
  /** Requests a second, median of the rounds. */
  ratio: number
  keysPerSecond: number
}

/** Signing with and without clients that have RSA keys made, one after the other, in turn. */
async function measureGenerating(server: Server, directory: string): Promise<WhileGenerating[]> {
  const results: WhileGenerating[] = []
  console.log(`\nsigning while RSA-${GENERATED_BITS} keys are made, ${FLOORS.connections} connections`)
  for (const key of KEYS) {
    const alone: Sample[] = []
    const generating: Sample[] = []
    let made = 0
    for (let round = 0; round < rounds; round++) {
      alone.push(await sample(server, key, FLOORS.connections, directory))
      const generation = generate(server)
      generating.push(await sample(server, key, FLOORS.connections, directory))
      made += await generation.stop()
    }
    const ratio = median(generating.map((one, round) => one.requestsPerSecond / alone[round]!.requestsPerSecond))
    const result = { key: key.id, alone: medians(alone), generating: medians(generating), ratio }
    results.push({ ...result, keysPerSecond: made / (rounds * seconds) })
    const { requestsPerSecond, p99Ms } = result.generating
    console.log(
      `${key.id.padEnd(9)}${requestsPerSecond.toFixed(0).padStart(8)} requests/s, ${ratio.toFixed(2)} of those without; p99 ${p99Ms.toFixed(1)} ms instead of ${result.alone.p99Ms.toFixed(1)} ms; ${(made / (rounds * seconds)).toFixed(2)} keys/s`,
    )
  }
  return results
}

/** Has keys made and deleted until it is stopped; says how many it were. */
function generate(server: Server): { stop(): Promise<number> } {
  const { call, close } = createClient(server)
  let going = true
  let made = 0
  const clients = Array.from({ length: GENERATING_CLIENTS }, async () => {
    while (going) {
      const key = { type: 'RSA', length: GENERATED_BITS, mechanisms: ['RSA_Signature_PSS_SHA256'] }
      const { status, text } = await call('POST', '/keys/generate', ADMIN, key)
      if (status !== 201) throw new Error(`Making a key: ${status} ${text}`)
      if (going) made++
      await call('DELETE', `/keys/${(JSON.parse(text) as { id: string }).id}`, ADMIN)
    }
  })
  return {
    stop: async () => {
      going = false
      await Promise.all(clients)
      close()
      return made
    },
  }
}
