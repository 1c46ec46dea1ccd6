/**
 * How Coffer scales with the number of stored keys: the time to unlock and the memory then in use, and whether reading
 * or using one key slows down. Runs the bundled appliance on stores of one key and of up to 100,000.
 */

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { openAppliance } from '../../firmware/appliance/appliance.ts'
import { createLog } from '../../firmware/base/log.ts'
import { createPool } from '../../firmware/crypto/pool/pool.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import type { KeyPair } from '../../firmware/crypto/types.ts'
import { keyName } from '../../firmware/kms/domain/identifiers.ts'
import { encodeKey } from '../../firmware/kms/domain/key-record.ts'
import { firstAdministrator, openDomain } from '../../firmware/kms/domain/operational.ts'
import type { Change, RecordStore } from '../../firmware/store/store.ts'
import {
  ADMIN,
  type Answer,
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
const BATCH = 2_000 // keys in one transaction while the store is filled
const RSA_SHARE = 4 // every fourth key is RSA

const idOf = (index: number) => `benchmark-key-${index}`

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

/** Provisions a store and writes keys into it through the sealed records, many in one transaction. */
async function fill(data: string, keys: number): Promise<void> {
  const deviceKey = randomBytes(32)
  writeFileSync(join(data, 'device.key'), deviceKey, { mode: 0o600 })
  const pool = createPool({ entry: new URL('../../firmware/crypto/pool/worker.ts', import.meta.url) })
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
    adminPassphrase: text(ADMIN.slice(ADMIN.indexOf(':') + 1)),
    systemTimeMs: Date.now(),
  })
  // A few keys of each kind, stored under many names: making each would take hours and change nothing here.
  const curvePairs = await Promise.all(Array.from({ length: 8 }, () => pool.generate('EC_P256')))
  const rsaPairs = await Promise.all(Array.from({ length: 2 }, () => pool.generate('RSA', 2048)))
  for (let start = 0; start < keys; start += BATCH) {
    const changes: Change[] = []
    for (let i = start; i < Math.min(start + BATCH, keys); i++) {
      const pairs = i % RSA_SHARE === RSA_SHARE - 1 ? rsaPairs : curvePairs
      changes.push(...recordsOf(idOf(i), pairs[i % pairs.length]!))
    }
    await records!.change(() => ({ changes, result: undefined }))
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

    const anyCurveKey = () => idOf(RSA_SHARE * Math.floor((Math.random() * keys) / RSA_SHARE))
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

async function medianMs(action: () => Promise<Answer>): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < WARM_UP_REQUESTS + REQUESTS; i++) {
    const startedAt = performance.now()
    await expectSuccess(action())
    if (i >= WARM_UP_REQUESTS) times.push(performance.now() - startedAt)
  }
  return median(times)
}
