/**
 * Coffer over HTTPS beside SoftHSM 2, which signs within the process that asks it, through PKCS#11 and with no network
 * between: both in turn on the same cores, SoftHSM with one thread and with one a core. Needs softhsm2, cc and wrk.
 *
 * node tools/bench/softhsm2.ts [--rounds=9] [--seconds=2] [--module=/usr/lib/softhsm/libsofthsm2.so]
 */

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  type BenchKey,
  bundleFor,
  createClient,
  fillStore,
  isInstalled,
  KEYS,
  makeKeys,
  median,
  othersShare,
  root,
  startCoffer,
  writeResults,
} from './harness.ts'
import { load, warmUp } from './wrk.ts'

const CONNECTIONS = 64
const PIN = '123456' // of a token that lives as long as the benchmark

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    seconds: { type: 'string', default: '2' },
    module: { type: 'string', default: '/usr/lib/softhsm/libsofthsm2.so' },
  },
})
const seconds = Number(options.seconds)

const missing = ['softhsm2-util', 'cc', 'wrk'].filter((program) => !isInstalled(program))
if (!existsSync(options.module)) missing.push(options.module)
if (missing.length > 0)
  console.log(`Left out, for want of ${missing.join(', ')}: apt install softhsm2 gcc libc6-dev wrk`)
else await measureAll()

interface Row {
  key: string
  /** Signatures a second. */
  coffer: number
  oneThread: number
  everyCore: number
  /** Coffer's against SoftHSM's with a thread a core, median of the rounds. */
  ratio: number
}

async function measureAll(): Promise<void> {
  const busyBefore = await othersShare()
  const directory = mkdtempSync(join(tmpdir(), 'coffer-bench-'))
  try {
    const softHsm = prepareSoftHsm(directory)
    await bundleFor(join(directory, 'coffer'))
    const server = await startCoffer(join(directory, 'coffer'), join(directory, 'data'))
    try {
      const { call, close } = createClient(server)
      await fillStore(call)
      await makeKeys(call)
      close()
      const rows: Row[] = []
      console.log(
        `signatures a second   Coffer, ${CONNECTIONS} connections   SoftHSM, 1 thread   1 a core   Coffer's share`,
      )
      for (const key of KEYS) {
        await warmUp(server, key, directory)
        const coffer = async () => (await load(server, key, CONNECTIONS, seconds, directory)).requestsPerSecond
        const row = await measure(key, coffer, (threads) => softHsm(key, threads))
        const numbers = [row.coffer, row.oneThread, row.everyCore].map((rate, i) =>
          rate.toFixed(0).padStart([36, 20, 11][i]!),
        )
        console.log(`${key.name.padEnd(10)}${numbers.join('')}${row.ratio.toFixed(2).padStart(17)}`)
        rows.push(row)
      }
      writeResults('softhsm2', { busyBefore, seconds, rounds: Number(options.rounds), connections: CONNECTIONS, rows })
    } finally {
      await server.stop()
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

async function measure(
  key: BenchKey,
  coffer: () => Promise<number>,
  softHsm: (threads: number) => number,
): Promise<Row> {
  const rates = { coffer: [] as number[], oneThread: [] as number[], everyCore: [] as number[] }
  for (let round = 0; round < Number(options.rounds); round++) {
    rates.coffer.push(await coffer())
    rates.oneThread.push(softHsm(1))
    rates.everyCore.push(softHsm(availableParallelism()))
  }
  return {
    key: key.id,
    coffer: median(rates.coffer),
    oneThread: median(rates.oneThread),
    everyCore: median(rates.everyCore),
    ratio: median(rates.coffer.map((rate, round) => rate / rates.everyCore[round]!)),
  }
}

/** A client in C and a token of its own; signatures a second of so many threads. */
function prepareSoftHsm(directory: string): (key: BenchKey, threads: number) => number {
  const client = join(directory, 'client')
  execFileSync('cc', ['-O2', '-o', client, join(root, 'tools/bench/softhsm2.c'), '-ldl', '-lpthread'])
  const tokens = join(directory, 'tokens')
  const configuration = join(directory, 'softhsm2.conf')
  mkdirSync(tokens)
  writeFileSync(configuration, `directories.tokendir = ${tokens}\nlog.level = ERROR\n`)
  const env = { ...process.env, SOFTHSM2_CONF: configuration }
  const token = ['--init-token', '--free', '--label', 'benchmark', '--pin', PIN, '--so-pin', PIN]
  execFileSync('softhsm2-util', token, { env, stdio: 'ignore' })
  return (key, threads) =>
    Number(
      execFileSync(client, [options.module, PIN, String(seconds), String(threads), key.id], { env, encoding: 'utf8' }),
    )
}
