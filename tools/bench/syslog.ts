/**
 * Cost of the log server over TLS for the keys: signatures a second at 64 connections of one Coffer with the forwarding of both logs on
 * and off, in rounds that take turns. The server is a process of its own on the same computer, which reads and keeps nothing; its
 * processor time is told, since it would be that of others. A ratio below its goal is said and fails nothing.
 *
 * node tools/bench/syslog.ts [--rounds=10] [--seconds=4] [--send=all]
 */

import { type ChildProcess, fork } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { createServer } from 'node:tls'
import { parseArgs } from 'node:util'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import {
  ADMIN,
  bundleFor,
  type Call,
  cpuUs,
  createClient,
  expectSuccess,
  fillStore,
  KEYS,
  makeKeys,
  othersShare,
  quantile,
  type Server,
  startCoffer,
  writeResults,
} from './harness.ts'
import { load, warmUp } from './wrk.ts'

const RATIO_GOAL = 0.9
const CONNECTIONS = 64
const REST_MS = 3000 // without a connection: nothing is forwarded any more
const RING_LINES = 1_000_000 // of uses: nothing is overwritten before it was forwarded
const KEY = KEYS[1]

if (process.argv[2] === 'server') await serve()
else await measureAll()

async function measureAll(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '10' },
      seconds: { type: 'string', default: '4' },
      send: { type: 'string', default: 'all' },
    },
  })
  const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)]
  await othersShare()
  const directory = mkdtempSync(join(tmpdir(), 'coffer-bench-syslog-'))
  await bundleFor(join(directory, 'program'))
  const coffer = await startCoffer(join(directory, 'program'), join(directory, 'data'))
  const { call, close } = createClient(coffer, CONNECTIONS)
  const server = fork(import.meta.filename, ['server'])
  try {
    const [{ port, fingerprint }] = (await once(server, 'message')) as [{ port: number; fingerprint: string }]
    await fillStore(call)
    await makeKeys(call)
    await expectSuccess(call('PUT', '/config/audit', ADMIN, { uses: RING_LINES }))
    const target = { server: '127.0.0.1', port, fingerprints: [fingerprint], send: values.send }
    await measure({ call, coffer, server, target, rounds, seconds, directory })
  } finally {
    server.kill()
    close()
    await coffer.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

interface Bench {
  call: Call
  coffer: Server
  server: ChildProcess
  target: object
  rounds: number
  seconds: number
  directory: string
}

async function measure({ call, coffer, server, target, rounds, seconds, directory }: Bench): Promise<void> {
  const set = (settings: object) => expectSuccess(call('PUT', '/config/syslog', ADMIN, settings))
  const turn = {
    on: async () => {
      await set(target)
      await caughtUp(call)
    },
    off: async () => {
      await set({ server: null })
      await atRest(server)
    },
  }
  const rates = { on: [] as number[], off: [] as number[] }
  const shares: number[] = []
  await warmUp(coffer, KEY, directory)
  for (let round = 0; round < rounds; round++)
    for (const which of round % 2 === 0 ? (['on', 'off'] as const) : (['off', 'on'] as const)) {
      await turn[which]()
      const before = { ms: performance.now(), us: cpuUs(server.pid!) }
      rates[which].push((await load(coffer, KEY, CONNECTIONS, seconds, directory)).requestsPerSecond)
      const processorsMs = (performance.now() - before.ms) * availableParallelism()
      if (which === 'on') shares.push((cpuUs(server.pid!) - before.us) / 1000 / processorsMs)
    }
  await turn.on()
  const paired = rates.on.map((rate, round) => rate / rates.off[round]!)
  const [low, ratio, high] = [0.25, 0.5, 0.75].map((share) => quantile(paired, share)!)
  const share = quantile(shares, 0.5)!
  console.log(
    `${KEY.name}, ${CONNECTIONS} connections, medians of ${rounds} rounds of ${seconds} s, signatures a second:`,
  )
  console.log(`with forwarding ${quantile(rates.on, 0.5)!.toFixed(0)}, without ${quantile(rates.off, 0.5)!.toFixed(0)}`)
  console.log(
    `ratio ${ratio!.toFixed(3)} (quartiles ${low!.toFixed(3)} to ${high!.toFixed(3)}), wished for: ${RATIO_GOAL}`,
  )
  console.log(
    `the log server takes ${(share * 100).toFixed(1)} % of the time of all processors; without it: ${(ratio! / (1 - share)).toFixed(3)}`,
  )
  writeResults('syslog', { rounds, seconds, target, rates, ratio, low, high, share })
}

async function statusOf(call: Call): Promise<{ confirmed: number; waiting: number }> {
  return JSON.parse((await expectSuccess(call('GET', '/config/syslog', ADMIN))).text)
}

/** Waits until the lines of the signatures without forwarding are with the server, too. */
async function caughtUp(call: Call): Promise<void> {
  for (;;) {
    const { confirmed, waiting } = await statusOf(call)
    if (confirmed > 0 && waiting < 100) return
    await wait(200)
  }
}

async function atRest(server: ChildProcess): Promise<void> {
  server.send(REST_MS)
  await once(server, 'message')
}

/** The log server: sends its address, and answers each time in ms once it had no connection for as long. */
async function serve(): Promise<void> {
  const { key, cert } = await makeTlsIdentity(systemRandom)
  let open = 0
  let lastMs = performance.now()
  const server = createServer({ key: Buffer.from(key), cert }, (socket) => {
    open++
    socket.on('error', () => {})
    socket.on('close', () => {
      open--
      lastMs = performance.now()
    })
    socket.resume()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.on('message', async (restMs: number) => {
    while (open > 0 || performance.now() - lastMs < restMs) await wait(50)
    process.send!('rest')
  })
  process.send!({
    port: (server.address() as AddressInfo).port,
    fingerprint: `sha-256:${new X509Certificate(cert).fingerprint256}`,
  })
}
