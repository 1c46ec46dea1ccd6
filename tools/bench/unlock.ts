/**
 * How Coffer scales with the number of stored keys: the time to unlock and the memory then in use, and whether reading
 * or using one key slows down. Runs the bundled appliance on stores of 1,000, 10,000 and 100,000 keys.
 */

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { openAppliance } from '../../firmware/appliance.ts'
import { createPool } from '../../firmware/crypto/pool.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls-identity.ts'
import type { KeyPair } from '../../firmware/crypto/types.ts'
import { keyName } from '../../firmware/domain/identifiers.ts'
import { encodeKey } from '../../firmware/domain/key-record.ts'
import { firstAdministrator, openDomain } from '../../firmware/domain/operational.ts'
import { createLog } from '../../firmware/log.ts'
import type { Change, RecordStore } from '../../firmware/store/store.ts'
import { bundle } from '../build.ts'

const SIZES = [1_000, 10_000, 100_000]
const UNLOCK_MS_MAX = 3_000
const RESIDENT_MIB_MAX = 300

const SETTLE_MS = 2_000 // worker threads warm up, garbage is collected
const REQUESTS = 400
const BATCH = 2_000 // keys in one transaction while the store is filled
const RSA_SHARE = 4 // every fourth key is RSA
const UNLOCK_PASSPHRASE = 'unlock passphrase of the benchmark'
const ADMIN_PASSPHRASE = 'admin passphrase of the benchmark'
const OPERATOR_PASSPHRASE = 'operator passphrase of the benchmark'

const idOf = (index: number) => `benchmark-key-${index}`

const directory = mkdtempSync(join(tmpdir(), 'coffer-bench-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
await bundle(join(directory, 'program'))
console.log('    keys   unlock ms   locked MiB   open MiB   GET ms   sign ms   (medians of single requests)')
const results = []
for (const keys of SIZES) {
  const data = mkdtempSync(join(directory, 'data-'))
  await fill(data, keys)
  const result = await measure(data, keys)
  results.push(result)
  const { unlockMs, lockedMib, openMib, getMs, signMs } = result
  const columns = [keys, unlockMs, lockedMib, openMib].map((value, i) => value.toFixed(0).padStart([8, 12, 13, 11][i]!))
  console.log(columns.join('') + [getMs, signMs].map((value, i) => value.toFixed(2).padStart([9, 10][i]!)).join(''))
}
const [smallest, largest] = [results[0]!, results.at(-1)!]
const growth = (largest.openMib - smallest.openMib) / (largest.keys - smallest.keys)
console.log(`growth of memory: ${(growth * 1024 * 1024).toFixed(0)} bytes a key`)
for (const [what, value, bound] of [
  [`unlocking ${largest.keys} keys, in ms,`, largest.unlockMs, UNLOCK_MS_MAX],
  [`memory with ${largest.keys} keys, in MiB,`, largest.openMib, RESIDENT_MIB_MAX],
] as const) {
  if (value <= bound) continue
  console.log(`${what} is above ${bound}`)
  process.exitCode = 1
}

/** Provisions a store and writes keys into it through the sealed records, many in one transaction. */
async function fill(data: string, keys: number): Promise<void> {
  const deviceKey = randomBytes(32)
  writeFileSync(join(data, 'device.key'), deviceKey, { mode: 0o600 })
  const pool = createPool({ entry: new URL('../../firmware/crypto/worker.ts', import.meta.url) })
  const log = createLog('warning', ({ message }) => console.error(message))
  let records: RecordStore | undefined
  const appliance = await openAppliance({
    dataDirectory: join(data, 'store'),
    deviceKey,
    pool,
    log,
    openDomain: (opened, services) => {
      records = opened
      return openDomain(opened, services)
    },
    firstAdministrator,
    makeTlsIdentity: () => makeTlsIdentity(systemRandom),
  })
  const text = (value: string) => new TextEncoder().encode(value)
  await appliance.provision({
    unlockPassphrase: text(UNLOCK_PASSPHRASE),
    adminPassphrase: text(ADMIN_PASSPHRASE),
    systemTimeMs: Date.now(),
  })
  // A few keys of each kind, stored under many names: making each would take hours and change nothing here.
  const curvePairs = await Promise.all(Array.from({ length: 8 }, () => pool.generate('EC_P256')))
  const rsaPairs = await Promise.all(Array.from({ length: 2 }, () => pool.generate('RSA', 2048)))
  for (let start = 0; start < keys; start += BATCH) {
    const changes: Change[] = []
    for (let i = start; i < Math.min(start + BATCH, keys); i++) {
      const pairs = i % RSA_SHARE === 0 ? rsaPairs : curvePairs
      changes.push(...recordsOf(idOf(i), pairs[i % pairs.length]!))
    }
    records!.commit(changes)
  }
  appliance.close()
  await pool.close()
}

function recordsOf(id: string, pair: KeyPair): Change[] {
  const metadata = {
    namespace: '',
    id,
    type: pair.type,
    typeName: pair.type,
    mechanisms: [pair.type === 'RSA' ? 'RSA_Signature_PSS_SHA256' : 'ECDSA_Signature'],
    tags: [],
    label: '',
    operations: 0,
    certificate: null,
  } as const satisfies Parameters<typeof encodeKey>[0]
  const name = keyName('', id)
  return [
    { collection: 'keys', name, value: encodeKey(metadata, pair.public) },
    { collection: 'privateKeys', name, value: pair.private },
  ]
}

interface Measured {
  keys: number
  unlockMs: number
  lockedMib: number
  openMib: number
  getMs: number
  signMs: number
}

async function measure(data: string, keys: number): Promise<Measured> {
  const boot = spawn(process.execPath, [join(directory, 'program', 'boot.js')], {
    env: { PATH: process.env.PATH, COFFER_DATA: data, COFFER_PORT: '0', COFFER_LOG: 'warning' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const port = await portOf(boot)
    const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
    const call = (method: string, path: string, user = '', json?: unknown) =>
      send(agent, port, method, path, user, json)
    const firmware = Number(readFileSync(`/proc/${boot.pid}/task/${boot.pid}/children`, 'utf8').trim())
    const admin = `admin:${ADMIN_PASSPHRASE}`
    const operator = `operator:${OPERATOR_PASSPHRASE}`

    await wait(SETTLE_MS)
    const lockedMib = residentMib(firmware)
    const startedAt = performance.now()
    await call('POST', '/unlock', '', { passphrase: UNLOCK_PASSPHRASE })
    const unlockMs = performance.now() - startedAt
    const user = { realName: 'Operator', role: 'Operator', passphrase: OPERATOR_PASSPHRASE }
    await call('PUT', '/users/operator', admin, user)

    const anyCurveKey = () => idOf(1 + RSA_SHARE * Math.floor((Math.random() * keys) / RSA_SHARE))
    const digest = { mode: 'ECDSA', message: randomBytes(32).toString('base64') }
    const getMs = await medianMs(() => call('GET', `/keys/${anyCurveKey()}`, admin))
    const signMs = await medianMs(() => call('POST', `/keys/${anyCurveKey()}/sign`, operator, digest))
    agent.destroy()
    await wait(SETTLE_MS)
    const openMib = residentMib(firmware)
    return { keys, unlockMs, lockedMib, openMib, getMs, signMs }
  } finally {
    boot.kill('SIGTERM')
    await new Promise((resolve) => boot.once('close', resolve))
  }
}

function portOf(boot: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let output = ''
    boot.stdout!.setEncoding('utf8').on('data', (text: string) => {
      output += text
      const match = /https:\/\/127\.0\.0\.1:(\d+): Locked/.exec(output)
      if (match) resolve(Number(match[1]))
    })
    boot.once('close', () => reject(new Error(`Coffer ended at its start: ${output}`)))
  })
}

async function medianMs(action: () => Promise<void>): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < REQUESTS; i++) {
    const startedAt = performance.now()
    await action()
    times.push(performance.now() - startedAt)
  }
  return times.sort((a, b) => a - b)[REQUESTS / 2]!
}

function residentMib(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
}

function send(agent: Agent, port: number, method: string, path: string, user: string, json?: unknown): Promise<void> {
  const body = json === undefined ? undefined : JSON.stringify(json)
  const headers: Record<string, string> = {}
  if (user !== '') headers.authorization = `Basic ${Buffer.from(user).toString('base64')}`
  if (body !== undefined) headers['content-type'] = 'application/json'
  return new Promise((resolve, reject) => {
    const outgoing = request({ agent, host: '127.0.0.1', port, method, path: `/api/v1${path}`, headers }, (answer) => {
      answer.resume()
      answer.once('error', reject)
      answer.once('end', () => {
        try {
          assert.ok(answer.statusCode! < 300, `${method} ${path}: ${answer.statusCode}`)
          resolve()
        } catch (error) {
          reject(error)
        }
      })
    })
    outgoing.once('error', reject)
    outgoing.end(body)
  })
}
