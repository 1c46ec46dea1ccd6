/**
 * How Coffer scales with the number of stored keys: the time to unlock and the memory then in use, and whether reading
 * or using one key slows down. Runs the bundled appliance on stores of one key and of up to 100,000.
 */

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fillKeys, keyId, RSA_SHARE } from './fill.ts'
import {
  ADMIN,
  type BenchAnswer,
  bundleFor,
  createClient,
  expectSuccess,
  median,
  OPERATOR,
  residentMib,
  startCoffer,
  UNLOCK_PASSPHRASE,
  writeResults,
} from './harness.ts'

const SIZES = [1, 1_000, 10_000, 100_000]
const UNLOCK_MS_MAX = 3_000
const RESIDENT_MIB_MAX = 300

const SETTLE_MS = 2_000 // worker threads warm up, garbage is collected
const REQUESTS = 400
const WARM_UP_REQUESTS = 200

const directory = mkdtempSync(join(tmpdir(), 'coffer-bench-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
await bundleFor(join(directory, 'program'))
console.log('    keys   unlock ms   locked MiB   open MiB   GET ms   sign ms   (P-256; medians of single requests)')
const rows: Measured[] = []
for (const keys of SIZES) {
  const data = mkdtempSync(join(directory, 'data-'))
  await fill(data, keys)
  const result = await measure(data, keys)
  rows.push(result)
  const { unlockMs, lockedMib, openMib, getMs, signMs } = result
  const columns = [keys, unlockMs, lockedMib, openMib].map((value, i) => value.toFixed(0).padStart([8, 12, 13, 11][i]!))
  console.log(columns.join('') + [getMs, signMs].map((value, i) => value.toFixed(2).padStart([9, 10][i]!)).join(''))
}
const [smallest, largest] = [rows[0]!, rows.at(-1)!]
const bytesPerKey = ((largest.openMib - smallest.openMib) * 1024 * 1024) / (largest.keys - smallest.keys)
console.log(`growth of memory: ${bytesPerKey.toFixed(0)} bytes a key`)
writeResults('growth', { bytesPerKey, rows })
for (const [what, value, bound] of [
  [`unlocking ${largest.keys} keys, in ms,`, largest.unlockMs, UNLOCK_MS_MAX],
  [`memory with ${largest.keys} keys, in MiB,`, largest.openMib, RESIDENT_MIB_MAX],
] as const) {
  if (value <= bound) continue
  console.log(`${what} is above ${bound}`)
  process.exitCode = 1
}

async function fill(data: string, keys: number): Promise<void> {
  writeFileSync(join(data, 'device.key'), randomBytes(32), { mode: 0o600 })
  await fillKeys(data, keys, { unlock: UNLOCK_PASSPHRASE, admin: ADMIN.slice(ADMIN.indexOf(':') + 1) })
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
  const server = await startCoffer(join(directory, 'program'), data)
  const { call, close } = createClient(server)
  try {
    await wait(SETTLE_MS)
    const lockedMib = residentMib(server.listener)
    const startedAt = performance.now()
    await expectSuccess(call('POST', '/unlock', undefined, { passphrase: UNLOCK_PASSPHRASE }))
    const unlockMs = performance.now() - startedAt
    const [id, passphrase] = OPERATOR.split(':')
    const user = { realName: 'Operator', role: 'Operator', passphrase }
    await expectSuccess(call('PUT', `/users/${id}`, ADMIN, user))

    const anyCurveKey = () => keyId(RSA_SHARE * Math.floor((Math.random() * keys) / RSA_SHARE))
    const digest = { mode: 'ECDSA', message: randomBytes(32).toString('base64') }
    const getMs = await medianMs(() => call('GET', `/keys/${anyCurveKey()}`, ADMIN))
    const signMs = await medianMs(() => call('POST', `/keys/${anyCurveKey()}/sign`, OPERATOR, digest))
    await wait(SETTLE_MS)
    return { keys, unlockMs, lockedMib, openMib: residentMib(server.listener), getMs, signMs }
  } finally {
    close()
    await server.stop()
  }
}

async function medianMs(action: () => Promise<BenchAnswer>): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < WARM_UP_REQUESTS + REQUESTS; i++) {
    const startedAt = performance.now()
    await expectSuccess(action())
    if (i >= WARM_UP_REQUESTS) times.push(performance.now() - startedAt)
  }
  return median(times)
}
