/** Servers under load, as the benchmarks and the soak program start, ask and measure them. Linux only: proc(5). */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { availableParallelism, cpus } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { bundle } from '../build.ts'

export const UNLOCK_PASSPHRASE = 'unlock passphrase of the benchmark'
export const ADMIN = 'admin:admin passphrase of the benchmark'
export const OPERATOR = 'operator:operator passphrase of the benchmark'

const TICK_US = 10_000 // of the times in proc(5): 100 a second on every Linux in use
const START_MS_MAX = 60_000

export const root = join(import.meta.dirname, '../..')

export const KEYS = [
  { id: 'ed25519', name: 'Ed25519', type: 'Curve25519', mechanisms: ['EdDSA_Signature'], mode: 'EdDSA' },
  { id: 'p256', name: 'P-256', type: 'EC_P256', mechanisms: ['ECDSA_Signature'], mode: 'ECDSA' },
  {
    id: 'rsa2048',
    name: 'RSA-2048',
    type: 'RSA',
    length: 2048,
    mechanisms: ['RSA_Signature_PSS_SHA256'],
    mode: 'PSS_SHA256',
  },
] as const
export type BenchKey = (typeof KEYS)[number]

/** How `/keys/generate` takes it, but for `name` and `mode`. */
export interface SigningKey {
  readonly id: string
  readonly name: string
  readonly type: string
  readonly mechanisms: readonly string[]
  readonly mode: string
}

export interface Address {
  readonly port: number
  /** By default 127.0.0.1. */
  readonly host?: string
}

export interface Server extends Address {
  readonly listener: number
  readonly processes: readonly number[]
  stop(): Promise<void>
}

/** The program of `directory` (see build.ts) with a fresh store in `data`, as shipped: nothing but the port is set. */
export async function startCoffer(
  directory: string,
  data: string,
  node = process.execPath,
  settings: Readonly<Record<string, string>> = {},
): Promise<Server> {
  mkdirSync(data, { recursive: true })
  const env = { PATH: process.env.PATH, COFFER_DATA: data, COFFER_PORT: '0', ...settings }
  const boot = spawn(node, [join(directory, 'boot.js')], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const port = await portOf(boot)
  const [firmware] = readFileSync(`/proc/${boot.pid}/task/${boot.pid}/children`, 'utf8').trim().split(' ').map(Number)
  return { port, listener: firmware!, processes: [boot.pid!, firmware!], stop: () => stop(boot) }
}

export async function startBare(): Promise<Server> {
  const child = spawn(process.execPath, [join(root, 'tools/bench/bare.ts')], { stdio: ['pipe', 'pipe', 'inherit'] })
  const port = await portOf(child)
  return { port, listener: child.pid!, processes: [child.pid!], stop: () => stop(child) }
}

/** Coffer's own program, or with `nodeCrypto` the same one signing with node:crypto. */
export const bundleFor = (directory: string, { nodeCrypto = false } = {}): Promise<void> =>
  bundle(directory, undefined, nodeCrypto ? [operationsOfOpenSsl] : [])

const operationsOfOpenSsl: NonNullable<Parameters<typeof bundle>[2]>[number] = {
  name: 'signing with node:crypto',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^\.\/operations\.ts$/ }, ({ importer }) =>
      importer.endsWith('crypto/pool/worker.ts') ? { path: join(root, 'tools/bench/openssl-keys.ts') } : null,
    )
  },
}

function portOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('The server does not start')), START_MS_MAX)
    let output = ''
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      if (output.length < 10_000) output += text // the rest is its log
      const port = /https:\/\/127\.0\.0\.1:(\d+): /.exec(output)?.[1]
      if (port === undefined) return
      clearTimeout(late)
      resolve(Number(port))
    })
    child.once('exit', () => reject(new Error(`The server ended at its start: ${output}`)))
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  await new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.kill('SIGTERM')
  })
}

export interface BenchAnswer {
  status: number
  text: string
}

export type Call = (method: string, path: string, credentials?: string, json?: unknown) => Promise<BenchAnswer>

/** A client that keeps its connections. */
export function createClient(
  { host = '127.0.0.1', port }: Address,
  connectionsMax = 64,
): { call: Call; close: () => void } {
  const agent = new Agent({ keepAlive: true, maxSockets: connectionsMax, rejectUnauthorized: false })
  const call: Call = (method, path, credentials, json) => {
    const body = json === undefined ? undefined : JSON.stringify(json)
    const headers: Record<string, string | number> = {}
    if (credentials !== undefined) headers.authorization = basic(credentials)
    if (body !== undefined) headers['content-type'] = 'application/json'
    if (body !== undefined) headers['content-length'] = Buffer.byteLength(body)
    return new Promise((resolve, reject) => {
      const options = { agent, host, port, method, path: `/api/v1${path}`, headers }
      const sent = request(options, (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        answer.once('error', reject)
        answer.once('end', () => resolve({ status: answer.statusCode!, text }))
      })
      sent.once('error', reject).end(body)
    })
  }
  return { call, close: () => agent.destroy() }
}

const basic = (credentials: string) => `Basic ${Buffer.from(credentials).toString('base64')}`

export async function expectSuccess(answering: Promise<BenchAnswer>): Promise<BenchAnswer> {
  const answer = await answering
  if (answer.status >= 300) throw new Error(`An answer of ${answer.status}: ${answer.text.slice(0, 200)}`)
  return answer
}

export async function fillStore(call: Call): Promise<void> {
  const [, adminPassphrase] = ADMIN.split(':')
  const [id, passphrase] = OPERATOR.split(':')
  const provision = { unlockPassphrase: UNLOCK_PASSPHRASE, adminPassphrase, systemTime: new Date().toISOString() }
  await expectSuccess(call('POST', '/provision', undefined, provision))
  await expectSuccess(call('PUT', `/users/${id}`, ADMIN, { realName: 'Operator', role: 'Operator', passphrase }))
}

/** And signs with each: the first signature of a caller waits for the check of a passphrase. */
export async function makeKeys(call: Call): Promise<void> {
  for (const { name: _, mode, ...key } of KEYS) {
    await expectSuccess(call('POST', '/keys/generate', ADMIN, key))
    await expectSuccess(call('POST', `/keys/${key.id}/sign`, OPERATOR, signRequest({ mode })))
  }
}

export const signRequest = ({ mode }: Pick<SigningKey, 'mode'>) => ({
  mode,
  message: Buffer.alloc(32, 1).toString('base64'),
})

/** Processor time since its start, in microseconds: of a process with all its threads, or of its main thread. */
export const cpuUs = (pid: number): number => cpuOf(`/proc/${pid}/stat`)
export const mainThreadUs = (pid: number): number => cpuOf(`/proc/${pid}/task/${pid}/stat`)

function cpuOf(file: string): number {
  const stat = readFileSync(file, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_US
}

export function residentMib(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const place = (sorted.length - 1) * share
  return (sorted[Math.floor(place)]! + sorted[Math.ceil(place)]!) / 2
}

const BUSY_MS = 1_000
const BUSY_SHARE_MAX = 0.1

/** Before anything is measured: the share of the processors that other programs take. A large one is said aloud. */
export async function othersShare(): Promise<number> {
  const times = () => cpus().map((cpu) => cpu.times)
  const total = (all: ReturnType<typeof times>) => all.flatMap((one) => Object.values(one)).reduce((a, b) => a + b, 0)
  const idle = (all: ReturnType<typeof times>) => all.reduce((sum, one) => sum + one.idle, 0)
  const before = times()
  await wait(BUSY_MS)
  const after = times()
  const share = 1 - (idle(after) - idle(before)) / (total(after) - total(before))
  if (share > BUSY_SHARE_MAX)
    console.log(
      `Other programs take ${(share * 100).toFixed(0)} % of the processors: nothing of what follows tells how fast Coffer is.`,
    )
  return share
}

export function writeResults(name: string, results: object): void {
  const file = join(root, 'dist/bench', `${name}.json`)
  mkdirSync(dirname(file), { recursive: true })
  const machine = { processor: cpus()[0]?.model ?? 'unknown', cores: availableParallelism(), node: process.version }
  writeFileSync(file, `${JSON.stringify({ ...machine, ...results }, null, 2)}\n`)
  console.log(`written: dist/bench/${name}.json`)
}

export const isInstalled = (program: string): boolean =>
  (process.env.PATH ?? '').split(':').some((directory) => directory !== '' && listed(directory).includes(program))

function listed(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}
