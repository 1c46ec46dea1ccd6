/**
 * Cost of the audit log: signatures a second over HTTPS with it and without it, from the same process, store and keys,
 * in short rounds that take turns; a round ends with its lines on disk. Fails when the median of the paired ratios is
 * below 0.9. Beside it the processor time of the server's main thread for one signature, which other load on the machine
 * disturbs less.
 *
 * node tools/bench/audit-cost.ts [--rounds=40]
 */

import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createApp } from '../../firmware/app.ts'
import { openAppliance } from '../../firmware/appliance/appliance.ts'
import { threadMs } from '../../firmware/base/batch-size.ts'
import { createLog } from '../../firmware/base/log.ts'
import { createPool } from '../../firmware/crypto/pool/pool.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { listenTls } from '../../firmware/http/server/listener.ts'
import { firstAdministrator, openDomain } from '../../firmware/kms/domain/operational.ts'
import { quantile, writeResults } from './harness.ts'

const RATIO_MIN = 0.9
const ROUND_MS = 1_000
const WARM_UP_MS = 3_000
const CLIENTS = 16
const ADMIN_PASSPHRASE = 'admin passphrase of the benchmark'
const OPERATOR_PASSPHRASE = 'operator passphrase of the benchmark'

/** The fastest kind, where a line costs most of the whole, and the one most in use. */
const KEYS = [
  { id: 'ed25519', type: 'Curve25519', mechanisms: ['EdDSA_Signature'], mode: 'EdDSA' },
  { id: 'rsa', type: 'RSA', length: 2048, mechanisms: ['RSA_Signature_PSS_SHA256'], mode: 'PSS_SHA256' },
]
const MESSAGE = Buffer.alloc(32, 1).toString('base64')

interface Ports {
  with: number
  without: number
}

const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS, rejectUnauthorized: false })

if (process.argv[2] === 'serve') await serve(process.argv[3]!)
else {
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: '40' } } })
  await measureAll(Number(values.rounds))
}

async function measureAll(rounds: number): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-bench-'))
  const server = fork(import.meta.filename, ['serve', directory])
  try {
    const [ports] = (await once(server, 'message')) as [Ports]
    await prepare(ports.with)
    const rows: Row[] = []
    for (const key of KEYS) rows.push(await measure(server, ports, key, rounds))
    writeResults('audit', { rounds, ratioMin: RATIO_MIN, rows })
    process.exitCode = rows.some(({ ratio }) => ratio < RATIO_MIN) ? 1 : 0
  } finally {
    agent.destroy()
    await stop(server)
    rmSync(directory, { recursive: true })
  }
}

async function stop(server: ChildProcess): Promise<void> {
  const end = once(server, 'exit')
  server.disconnect()
  await end
}

interface Row {
  key: string
  /** With the audit log against without it, medians of the pairs. */
  ratio: number
  mainThreadRatio: number
}

async function measure(server: ChildProcess, ports: Ports, key: (typeof KEYS)[number], rounds: number): Promise<Row> {
  for (const port of [ports.with, ports.without]) await signFor(WARM_UP_MS, server, port, key)
  const rates = { with: [] as number[], without: [] as number[] }
  const costs = { with: [] as number[], without: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? (['with', 'without'] as const) : (['without', 'with'] as const)
    for (const which of order) {
      const { rate, mainThreadUs } = await signFor(ROUND_MS, server, ports[which], key)
      rates[which].push(rate)
      costs[which].push(mainThreadUs)
    }
  }
  const ratios = rates.with.map((rate, round) => rate / rates.without[round]!)
  const costRatios = costs.with.map((cost, round) => cost / costs.without[round]!)
  console.log(`${key.id}, medians of ${rounds} rounds:     with  without  ratio  (quartiles)`)
  for (const [what, values, paired] of [
    ['signatures a second  ', rates, ratios],
    ['main thread, us each ', costs, costRatios],
  ] as const) {
    const columns = [quantile(values.with, 0.5).toFixed(0), quantile(values.without, 0.5).toFixed(0)]
    const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => quantile(paired, share).toFixed(3))
    console.log(`  ${what} ${columns.map((text) => text.padStart(8)).join(' ')}  ${middle}  (${low} to ${high})`)
  }
  return { key: key.id, ratio: quantile(ratios, 0.5), mainThreadRatio: quantile(costRatios, 0.5) }
}

interface Round {
  /** Signatures a second of all clients together. */
  rate: number
  /** Processor time of one signature. */
  mainThreadUs: number
}

async function signFor(
  durationMs: number,
  server: ChildProcess,
  port: number,
  { id, mode }: { id: string; mode: string },
): Promise<Round> {
  const body = JSON.stringify({ mode, message: MESSAGE })
  const startedUs = await settle(server)
  const started = performance.now()
  const end = started + durationMs
  let signatures = 0
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (performance.now() < end) {
        await call(port, 'POST', `/keys/${id}/sign`, `operator:${OPERATOR_PASSPHRASE}`, body)
        signatures++
      }
    }),
  )
  const spentUs = (await settle(server)) - startedUs
  return { rate: (signatures * 1000) / (performance.now() - started), mainThreadUs: spentUs / signatures }
}

/** Waits until the lines so far are on disk; the processor time of the server's main thread. */
async function settle(server: ChildProcess): Promise<number> {
  const answer = once(server, 'message')
  server.send('settle')
  return (await answer)[0] as number
}

async function prepare(port: number): Promise<void> {
  const admin = `admin:${ADMIN_PASSPHRASE}`
  const operator = { realName: 'Operator', role: 'Operator', passphrase: OPERATOR_PASSPHRASE }
  await call(port, 'PUT', '/users/operator', admin, JSON.stringify(operator))
  for (const { mode: _, ...key } of KEYS) await call(port, 'POST', '/keys/generate', admin, JSON.stringify(key))
}

function call(port: number, method: string, path: string, auth: string, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const sent = request(
      { host: '127.0.0.1', port, path: `/api/v1${path}`, method, auth, headers, agent },
      (answer) => {
        answer.resume().once('end', () => {
          if (answer.statusCode! < 300) resolve()
          else reject(new Error(`${method} ${path}: ${answer.statusCode}`))
        })
      },
    )
    sent.once('error', reject).end(body)
  })
}

/** One appliance behind two ports; only what comes through the first is recorded. */
async function serve(dataDirectory: string): Promise<void> {
  const log = createLog('info', () => {})
  const pool = createPool({ entry: new URL('../../firmware/crypto/pool/worker.ts', import.meta.url) })
  const appliance = await openAppliance({
    dataDirectory,
    deviceKey: systemRandom(32),
    pool,
    log,
    openDomain,
    firstAdministrator,
    makeTlsIdentity: () => makeTlsIdentity(systemRandom),
  })
  await appliance.provision({
    unlockPassphrase: new TextEncoder().encode('unlock passphrase of the benchmark'),
    adminPassphrase: new TextEncoder().encode(ADMIN_PASSPHRASE),
    systemTimeMs: Date.now(),
  })
  const info = { vendor: 'Coffer', product: 'Coffer', version: '0' }
  const options = { appliance, log, info }
  const nothing = { expectRoom: () => {}, record: () => undefined }
  const apps = [createApp(options), createApp({ ...options, auditor: nothing })]
  const identity = () => appliance.tlsIdentity()
  const listeners = await Promise.all(
    apps.map((app) => listenTls({ app, host: '127.0.0.1', port: 0, identity, log, now: Date.now })),
  )
  process.once('disconnect', async () => {
    await Promise.all(listeners.map((listener) => listener.close()))
    const { lines } = await appliance.audit!.page({ limit: 1 })
    assert.ok(lines[0]!.sequence > 1, 'lines were recorded')
    appliance.close()
    await pool.close()
  })
  process.on('message', () => {
    appliance.audit!.flush()
    process.send!(threadMs() * 1000)
  })
  process.send!({ with: listeners[0]!.port, without: listeners[1]!.port } satisfies Ports)
}
