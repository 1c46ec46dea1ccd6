/** 10,000 keys saved while keys are used, and restored on a fresh instance. Contract section 8.2: as a stream. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Agent, request as httpsRequest } from 'node:https'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { basic, request } from '../accept/client.ts'
import { buildForTests, type Coffer, expect, makeDataDirectory, startCoffer, stateOf } from '../boot/coffer.ts'
import { BACKUP, credentialsOf, furnish, UNLOCK } from './furnish.ts'
import { digestStore } from './rig.ts'

const KEYS = 10_000
const GROWTH_MIB_MAX = 64
const ADMIN = credentialsOf('admin')
const SETTINGS = { COFFER_LOG: 'warning' }
const MIB = 1024 * 1024

let program: string
before(async () => {
  program = await buildForTests()
})

test(`${KEYS} keys are saved in bounded memory while keys are used, and restored as they were`, {
  timeout: 300_000,
}, async (t) => {
  const data = makeDataDirectory(t)
  await furnish(data, KEYS)
  const coffer = startCoffer(t, { program, data, settings: SETTINGS })
  await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))

  const signing = await startSigning(coffer)
  await wait(5000)
  const rss = watchRss(await coffer.firmwarePid())
  await wait(3000)
  const { highest: baseline } = rss.restart()
  for (const pauseMs of [0, 2]) {
    const signedBefore = signing.count
    signing.slowestMs = 0
    const started = performance.now()
    const bytes = await download(coffer, pauseMs)
    const seconds = (performance.now() - started) / 1000
    const { highest } = rss.restart()
    const signed = signing.count - signedBefore
    t.diagnostic(
      `${(bytes.length / MIB).toFixed(1)} MiB in ${seconds.toFixed(2)} s, ${signed} signatures meanwhile, ` +
        `the slowest ${signing.slowestMs.toFixed(0)} ms; ${(baseline / MIB).toFixed(0)} MiB before, ` +
        `${((highest - baseline) / MIB).toFixed(1)} more at most`,
    )
    assert.ok(signed > 0, 'signing went on')
    assert.ok(highest - baseline < GROWTH_MIB_MAX * MIB, `${(highest - baseline) / MIB} MiB more`)
  }
  rss.stop()
  assert.equal(await signing.stop(), 0)
  const backup = await download(coffer, 0)
  const before = await inventory(coffer)
  assert.equal(await coffer.stop(), 0)

  const freshData = makeDataDirectory(t)
  const fresh = startCoffer(t, { program, data: freshData, settings: SETTINGS })
  assert.equal(await stateOf(fresh), 'Unprovisioned')
  const freshRss = watchRss(await fresh.firmwarePid())
  const started = performance.now()
  const query = new URLSearchParams({ backupPassphrase: BACKUP })
  await expect(204, fresh.call('POST', `/system/restore?${query}`, { body: backup }))
  const { highest, lowest } = freshRss.restart()
  freshRss.stop()
  t.diagnostic(
    `restored in ${(performance.now() - started).toFixed(0)} ms with ${((highest - lowest) / MIB).toFixed(1)} MiB more`,
  )
  assert.equal(await stateOf(fresh), 'Locked')
  await expect(204, fresh.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
  assert.deepEqual(await inventory(fresh), before)
  await sign(fresh, new Agent({ rejectUnauthorized: false }), 'key-0')
  assert.ok(!fresh.output().includes(BACKUP))
  assert.equal(await fresh.stop(), 0)
  const tables = ['users', 'namespaces', 'privateKeys', 'certificates', 'configuration']
  assert.equal(digestStore(join(freshData, 'store'), tables), digestStore(join(data, 'store'), tables))
})

async function sign(coffer: Coffer, agent: Agent, id: string): Promise<void> {
  const json = { mode: 'EdDSA', message: 'AAAA' }
  const target = { ...(await coffer.target()), agent }
  const { status, text } = await request(target, 'POST', `/api/v1/keys/${id}/sign`, {
    as: credentialsOf('signer'),
    json,
  })
  assert.equal(status, 200, text())
}

/** Two clients that sign with many keys as fast as they are answered. */
async function startSigning(coffer: Coffer) {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
  const signing = { count: 0, failed: 0, slowestMs: 0, stop: async () => 0 }
  let running = true
  const client = async (offset: number) => {
    for (let n = offset; running; n += 24) {
      const started = performance.now()
      await sign(coffer, agent, `key-${n % (KEYS - (KEYS % 12))}`).catch(() => signing.failed++)
      signing.slowestMs = Math.max(signing.slowestMs, performance.now() - started)
      signing.count++
    }
  }
  const clients = Promise.all([client(0), client(12)]) // neither Generic nor of the namespace
  signing.stop = async () => {
    running = false
    await clients
    agent.destroy()
    return signing.failed
  }
  return signing
}

/** Reads with a pause after each piece, as a slow client would. */
async function download(coffer: Coffer, pauseMs: number): Promise<Buffer> {
  const { host, port } = await coffer.target()
  const headers = { authorization: basic(credentialsOf('saver')) }
  const options = { host, port, headers, method: 'POST', path: '/api/v1/system/backup', rejectUnauthorized: false }
  const { promise, resolve, reject } = Promise.withResolvers<import('node:http').IncomingMessage>()
  httpsRequest(options, resolve).on('error', reject).end()
  const answer = await promise
  assert.equal(answer.statusCode, 200)
  const pieces: Buffer[] = []
  for await (const piece of answer) {
    pieces.push(piece as Buffer)
    if (pauseMs > 0) await wait(pauseMs)
  }
  return Buffer.concat(pieces)
}

function watchRss(pid: number) {
  let highest = 0
  let lowest = Number.POSITIVE_INFINITY
  const sample = () => {
    const bytes = Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024
    highest = Math.max(highest, bytes)
    lowest = Math.min(lowest, bytes)
  }
  const timer = setInterval(sample, 10)
  return {
    restart: () => {
      sample()
      const seen = { highest, lowest }
      highest = 0
      lowest = Number.POSITIVE_INFINITY
      return seen
    },
    stop: () => clearInterval(timer),
  }
}

/** Lists, and every detail of a sample. */
async function inventory(coffer: Coffer): Promise<unknown> {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
  const target = { ...(await coffer.target()), agent }
  const seen: Record<string, string> = {}
  const get = async (path: string, as: string) => {
    const { status, text, bytes } = await request(target, 'GET', `/api/v1${path}`, { as })
    seen[`${as} ${path}`] = `${status} ${path.endsWith('cert') ? bytes.toString('hex') : text()}`
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
