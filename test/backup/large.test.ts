// @test long 180
/** 10,000 keys saved while keys are used, and restored on a fresh instance. Contract section 8.2: as a stream. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Agent, request as httpsRequest } from 'node:https'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { BackupFormat } from '../../firmware/backup/backups.ts'
import { expect, stateOf } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { basic, request } from '../support/client.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../support/process.ts'
import { BACKUP, credentialsOf, fillStore, UNLOCK } from './fill-store.ts'
import { digestStore } from './rig.ts'

const KEYS = 10_000
const CERTIFICATE_BYTES = 208 * 1024 // of every tenth key
const BACKUP_MIB_MIN = 200
const HEADROOM_MIB = 160 // what the heaps of all threads may still grow by; the whole backup has no room in it
const WARM = 2000 // signatures
const PAUSE_MS = 5 // after each further one: that they go on is to be seen, not how many there are
const ADMIN = credentialsOf('admin')
const SETTINGS = { COFFER_LOG: 'warning' }
const MIB = 1024 * 1024

let program: string
before(async () => {
  program = await buildForTests()
})

test(`${KEYS} keys are saved in bounded memory while keys are used, and restored as they were`, {
  timeout: 600_000,
}, async (t) => {
  const data = makeDataDirectory(t)
  await fillStore(data, KEYS, CERTIFICATE_BYTES)
  const coffer = startCoffer(t, { program, data, settings: SETTINGS })
  await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))

  const signing = startSigning(t, coffer)
  await signing.until(WARM) // so that the workers run, and are warm
  limitMemory(await coffer.firmwarePid())
  const signedBefore = signing.count
  assert.ok((await download(coffer, 'nethsm')).length > BACKUP_MIB_MIN * MIB)
  const backup = await download(coffer, 'coffer')
  assert.ok(backup.length > BACKUP_MIB_MIN * MIB, `${backup.length} bytes`)
  assert.ok(signing.count > signedBefore, 'signing went on')
  assert.equal(await signing.stop(), 0)
  const before = await inventory(coffer)
  assert.equal(await coffer.stop(), 0)

  const freshData = makeDataDirectory(t)
  const fresh = startCoffer(t, { program, data: freshData, settings: SETTINGS })
  assert.equal(await stateOf(fresh), 'Unprovisioned')
  await expect(400, fresh.call('POST', '/system/restore?backupPassphrase=none+of+its+own', { body: backup }))
  limitMemory(await fresh.firmwarePid())
  const query = new URLSearchParams({ backupPassphrase: BACKUP })
  await expect(204, fresh.call('POST', `/system/restore?${query}`, { body: backup }))
  assert.equal(await stateOf(fresh), 'Locked')
  await expect(204, fresh.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
  assert.deepEqual(await inventory(fresh), before)
  await sign(fresh, new Agent({ rejectUnauthorized: false }), 'key-0')
  assert.ok(!fresh.output().includes(BACKUP))
  assert.equal(await fresh.stop(), 0)
  const tables = ['users', 'namespaces', 'privateKeys', 'certificates', 'configuration']
  assert.equal(digestStore(join(freshData, 'store'), tables), digestStore(join(data, 'store'), tables))
})

/**
 * From now on the process has no more memory than it has, and the headroom: an allocation beyond fails. Unlike the
 * resident set, which the collector decides, that is the same on every computer: before it fails, V8 collects.
 */
function limitMemory(pid: number): void {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const numberIn = (pattern: RegExp): number => Number(pattern.exec(status)![1])
  const used = numberIn(/VmData:\s+(\d+) kB/) * 1024
  const limit = used + HEADROOM_MIB * MIB
  // Root starts it as a user of its own, to whom alone prlimit(2) gives way without CAP_SYS_RESOURCE.
  const owner = process.getuid!() === 0 ? { uid: numberIn(/Uid:\s+(\d+)/), gid: numberIn(/Gid:\s+(\d+)/) } : {}
  const limited = spawnSync('prlimit', ['--pid', String(pid), `--data=${limit}:${limit}`], owner)
  assert.equal(limited.status, 0, limited.stderr.toString())
}

async function sign(coffer: Coffer, agent: Agent, id: string): Promise<void> {
  const json = { mode: 'EdDSA', message: 'AAAA' }
  const target = { ...(await coffer.target()), agent }
  const { status, text } = await request(target, 'POST', `/api/v1/keys/${id}/sign`, {
    as: credentialsOf('signer'),
    json,
  })
  assert.equal(status, 200, text())
}

/** Two clients that sign with many keys, each a while after the answer before, until the test ends. */
function startSigning(t: TestContext, coffer: Coffer) {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
  const signing = {
    count: 0,
    failed: 0,
    until: async (count: number) => {
      while (running && signing.count < count) await wait(10)
    },
    stop: async () => {
      running = false
      await clients
      agent.destroy()
      return signing.failed
    },
  }
  let running = true
  const client = async (offset: number) => {
    for (let n = offset; running; n += 24) {
      await sign(coffer, agent, `key-${n % (KEYS - (KEYS % 12))}`).catch(() => signing.failed++)
      signing.count++
      if (signing.count > WARM) await wait(PAUSE_MS)
    }
  }
  const clients = Promise.all([client(0), client(12)]) // neither Generic nor of the namespace
  t.after(signing.stop)
  return signing
}

/** Reads with a pause after each piece, as a slow client would. */
async function download(coffer: Coffer, format: BackupFormat): Promise<Buffer> {
  const { host, port } = await coffer.target()
  const headers = { authorization: basic(credentialsOf('saver')) }
  const options = {
    host,
    port,
    headers,
    method: 'POST',
    path: `/api/v1/system/backup?format=${format}`,
    rejectUnauthorized: false,
  }
  const { promise, resolve, reject } = Promise.withResolvers<import('node:http').IncomingMessage>()
  httpsRequest(options, resolve).on('error', reject).end()
  const answer = await promise
  assert.equal(answer.statusCode, 200)
  const pieces: Buffer[] = []
  for await (const piece of answer) {
    pieces.push(piece as Buffer)
    await wait(1)
  }
  return Buffer.concat(pieces)
}

/** Lists, and every detail of a sample but for the counts of uses, which go on while a backup is made. */
async function inventory(coffer: Coffer): Promise<unknown> {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
  const target = { ...(await coffer.target()), agent }
  const seen: Record<string, string> = {}
  const get = async (path: string, as: string) => {
    const { status, text, bytes } = await request(target, 'GET', `/api/v1${path}`, { as })
    const shown = path.endsWith('cert') ? hash('sha256', bytes) : text().replace(/"operations":\d+/, '')
    seen[`${as} ${path}`] = `${status} ${shown}`
  }
  const chief = credentialsOf('team~chief')
  for (const path of ['/users', '/namespaces', '/keys', '/users/signer', '/users/signer/tags', '/config/network'])
    await get(path, ADMIN)
  await get('/keys', chief)
  for (let n = 0; n < KEYS; n += 50) {
    const as = n % 3 === 1 ? chief : ADMIN
    for (const part of ['', '/cert', '/public.pem']) await get(`/keys/key-${n}${part}`, as)
  }
  assert.equal(
    JSON.parse(seen[`${ADMIN} /keys`]!.slice(4)).length + JSON.parse(seen[`${chief} /keys`]!.slice(4)).length,
    KEYS,
  )
  agent.destroy()
  return seen
}
