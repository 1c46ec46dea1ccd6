/**
 * A long run of mixed use at half of what the machine can do: signatures, keys made and deleted, lists, pages of the
 * audit log, locks and unlocks. Fails at the first answer that nobody expects, at a signature that does not verify, and
 * when the memory of the server keeps growing from lock to lock. It goes on until there were enough locks to tell.
 *
 * node tools/soak.ts [--minutes=60] [--seconds=...] [--locks=16]
 */

import { constants, createHash, createPublicKey, type KeyObject, randomBytes, verify } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { defined } from '../firmware/base/defined.ts'
import {
  ADMIN,
  type BenchAnswer,
  type BenchKey,
  bundleFor,
  type Call,
  createClient,
  expectSuccess,
  fillStore,
  KEYS,
  makeKeys,
  median,
  OPERATOR,
  residentMib,
  type Server,
  startCoffer,
  UNLOCK_PASSPHRASE,
  writeResults,
} from './bench/harness.ts'

const CLIENTS = 16
const WARM_UP_SHARE = 0.15 // of the time, at full speed: the second half of it tells the maximum
const OPEN_MS_MAX = 10_000 // between two locks
const OPEN_MS_MIN = 1000
const LOCKED_MS_MIN = 1000 // half a second after a lock the heap is collected
const LOCKED_MS_MAX = 10_000
const SETTLED_MS = 700 // so long has memory not fallen any more when it is measured, however busy the computer is
const SETTLED_MIB = 1
const SAMPLE_MS = 50
/** So many tell whether memory grows. */
export const LOCKS_MIN = 16
const KEYS_KEPT = 100 // of those made; older ones are deleted
const VERIFIED_SHARE = 0.05 // of the signatures; more would make the client the slower side
const BEHIND_MS_MAX = 1000 // what was missed by more is not caught up

/** Memory that the second half may end with above what it began with: what the C library keeps for itself. */
const GROWTH_MIB_MAX = 16

const WEIGHTS = { ed25519: 35, p256: 30, rsa2048: 20, make: 3, list: 5, show: 5, audit: 1, random: 1 } as const
type Work = keyof typeof WEIGHTS

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '60' },
      seconds: { type: 'string' },
      locks: { type: 'string', default: String(LOCKS_MIN) },
    },
  })
  const seconds = values.seconds === undefined ? Number(values.minutes) * 60 : Number(values.seconds)
  await soak(seconds, Number(values.locks))
}

async function soak(seconds: number, locksMin: number): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-soak-'))
  let server: Server | undefined
  try {
    await bundleFor(join(directory, 'program'))
    server = await startCoffer(join(directory, 'program'), join(directory, 'data'))
    const { call, close } = createClient(server, CLIENTS + 1)
    await fillStore(call)
    await makeKeys(call)
    const result = await run(server, call, seconds, locksMin)
    close()
    report(seconds, result)
    if (result.problem !== null) process.exitCode = 1
  } finally {
    await server?.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

interface Outcome {
  /** Requests a second: the most there could be, and those of the run. */
  maximum: number
  rate: number
  counts: Record<Work, number>
  locks: number
  verified: number
  /** Memory of both processes: for each lock, the minimum until the unlock. */
  residentMib: number[]
  problem: string | null
}

async function run(server: Server, call: Call, seconds: number, locksMin: number): Promise<Outcome> {
  const user = createUser(call, await publicKeys(call))
  const startedMs = performance.now()
  const endMs = startedMs + seconds * 1000
  const warmMs = startedMs + seconds * 1000 * WARM_UP_SHARE
  let problem: string | null = null
  const lows: number[] = []
  const isOver = () => problem !== null || (performance.now() >= endMs && lows.length >= locksMin)
  const fail = (error: unknown) => {
    problem ??= error instanceof Error ? error.message : String(error)
  }

  const atFullSpeed = everyClient(async () => {
    while (!isOver() && performance.now() < warmMs) await user.work()
  })
  await wait((warmMs - startedMs) / 2)
  const halfway = { done: user.done(), atMs: performance.now() }
  await atFullSpeed.catch(fail)
  const maximum = ((user.done() - halfway.done) * 1000) / (performance.now() - halfway.atMs)

  const pacedMs = performance.now()
  const doneBefore = user.done()
  const turn = rateLimit(maximum / 2)
  const locking = (async () => {
    const openMs = Math.max(OPEN_MS_MIN, Math.min(OPEN_MS_MAX, (endMs - pacedMs) / locksMin - 2 * LOCKED_MS_MIN))
    while (!isOver()) {
      await wait(openMs)
      if (isOver()) return
      await user.lock()
      lows.push(await lowest(server))
      await user.unlock()
    }
  })().catch(fail)
  await everyClient(async () => {
    while (!isOver()) {
      await turn()
      if (!isOver()) await user.work()
    }
  }).catch(fail)
  await locking
  if (problem === null) await user.checkCounters().catch(fail)
  problem ??= growthOf(lows, locksMin)
  const rate = ((user.done() - doneBefore) * 1000) / (performance.now() - pacedMs)
  return { maximum, rate, ...user.totals(), residentMib: lows, problem }
}

/** Resident memory of a locked server in MiB, once it does not fall any more. */
async function lowest({ processes }: Server): Promise<number> {
  const startedMs = performance.now()
  let least = Number.POSITIVE_INFINITY
  let fellMs = startedMs
  const isSettled = (nowMs: number) =>
    nowMs - startedMs > LOCKED_MS_MAX || Math.min(nowMs - startedMs - LOCKED_MS_MIN, nowMs - fellMs - SETTLED_MS) > 0
  while (!isSettled(performance.now())) {
    const mib = processes.reduce((sum, pid) => sum + residentMib(pid), 0)
    if (mib < least - SETTLED_MIB) fellMs = performance.now()
    least = Math.min(least, mib)
    await wait(SAMPLE_MS)
  }
  return least
}

function everyClient(work: () => Promise<void>): Promise<unknown> {
  return Promise.all(Array.from({ length: CLIENTS }, work))
}

function rateLimit(perSecond: number): () => Promise<void> {
  const intervalMs = 1000 / perSecond
  let nextMs = performance.now()
  return async () => {
    const nowMs = performance.now()
    nextMs = Math.max(nextMs + intervalMs, nowMs - BEHIND_MS_MAX)
    if (nextMs > nowMs) await wait(nextMs - nowMs)
  }
}

/**
 * Null while the memory is flat, which is measured where it can be compared, while locked: the lowest of the second half are
 * not far above those of the first. (While open it goes up and down by a quarter, as garbage is collected, and falls with
 * each lock. Locked, what the next threads warm up with is there or not: the lowest are those without.)
 */
export function growthOf(samplesMib: readonly number[], locksMin = LOCKS_MIN): string | null {
  const half = Math.floor(samplesMib.length / 2)
  if (half < locksMin / 2) return 'the run was too short to tell whether memory grows'
  const low = (from: number) =>
    median(
      samplesMib
        .slice(from, from + half)
        .toSorted((a, b) => a - b)
        .slice(0, Math.ceil(half / 5)),
    )
  const growth = low(samplesMib.length - half) - low(0)
  return growth <= GROWTH_MIB_MAX ? null : `memory grew by ${growth.toFixed(0)} MiB in the second half of the run`
}

async function publicKeys(call: Call): Promise<Map<string, KeyObject>> {
  const keys = new Map<string, KeyObject>()
  for (const { id } of KEYS) {
    const { text } = await expectSuccess(call('GET', `/keys/${id}/public.pem`, OPERATOR))
    keys.set(id, createPublicKey(text))
  }
  return keys
}

interface User {
  /** One request, of whatever kind its turn it is. Throws when the answer is not what it must be. */
  work(): Promise<void>
  lock(): Promise<void>
  unlock(): Promise<void>
  checkCounters(): Promise<void>
  done(): number
  totals(): Pick<Outcome, 'counts' | 'locks' | 'verified'>
}

function createUser(call: Call, publicKeyOf: ReadonlyMap<string, KeyObject>): User {
  const counts: Record<Work, number> = {
    ed25519: 0,
    p256: 0,
    rsa2048: 0,
    make: 0,
    list: 0,
    show: 0,
    audit: 0,
    random: 0,
  }
  const interrupted: Record<string, number> = {}
  const made: string[] = []
  let locks = 0
  let verified = 0
  let lockedMs = Number.NEGATIVE_INFINITY // when the last lock was asked for
  let openMs = Number.NEGATIVE_INFINITY // when the last unlock was answered; Infinity in between

  /** Null when a lock came between, which 412 says. */
  async function ask(method: string, path: string, as: string, json?: unknown): Promise<BenchAnswer | null> {
    const askedMs = performance.now()
    const answer = await call(method, path, as, json)
    if (answer.status < 300) return answer
    const isLocked = lockedMs <= performance.now() && askedMs <= openMs
    if (answer.status === 412 && answer.text.includes('Service not available') && isLocked) return null
    throw new Error(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 200)}`)
  }

  async function sign(key: BenchKey): Promise<void> {
    const message = randomBytes(32)
    const digest = createHash('sha256').update(message).digest()
    const body = { mode: key.mode, message: digest.toString('base64') }
    const answer = await ask('POST', `/keys/${key.id}/sign`, OPERATOR, body)
    if (answer === null) interrupted[key.id] = (interrupted[key.id] ?? 0) + 1
    else if (Math.random() < VERIFIED_SHARE) {
      const signature = Buffer.from((JSON.parse(answer.text) as { signature: string }).signature, 'base64')
      if (!isRight(key, defined(publicKeyOf.get(key.id)), message, digest, signature))
        throw new Error(`A wrong ${key.name} signature`)
      verified++
    }
  }

  async function make(): Promise<void> {
    const id = `soak-${randomBytes(8).toString('hex')}`
    const kind = Math.random() < 0.02 ? KEYS[2] : Math.random() < 0.5 ? KEYS[1] : KEYS[0]
    const { name: _, mode: __, ...parameters } = kind
    const answer = await ask('POST', '/keys/generate', ADMIN, { ...parameters, id })
    if (answer !== null) made.push(id)
    if (made.length > KEYS_KEPT) {
      const oldest = made.shift()
      if (oldest !== undefined && (await ask('DELETE', `/keys/${oldest}`, ADMIN)) === null) made.unshift(oldest)
    }
  }

  async function list(): Promise<void> {
    const before = [...made]
    const answer = await ask('GET', '/keys', ADMIN)
    if (answer === null) return
    const ids = new Set((JSON.parse(answer.text) as { id: string }[]).map(({ id }) => id))
    const kept = new Set(made)
    const missing = [...before, ...KEYS.map(({ id }) => id)].find(
      (id) => !ids.has(id) && (kept.has(id) || !id.startsWith('soak')),
    )
    if (missing !== undefined) throw new Error(`The list of keys lacks ${missing}`)
  }

  const works: Record<Work, () => Promise<unknown>> = {
    ed25519: () => sign(KEYS[0]),
    p256: () => sign(KEYS[1]),
    rsa2048: () => sign(KEYS[2]),
    make,
    list,
    show: () => ask('GET', `/keys/${KEYS[1].id}`, OPERATOR),
    audit: () => ask('GET', '/audit?limit=20', ADMIN),
    random: () => ask('POST', '/random', OPERATOR, { length: 32 }),
  }
  const urn = Object.entries(WEIGHTS).flatMap(([work, weight]) => Array<Work>(weight).fill(work as Work))

  return {
    async work() {
      const work = defined(urn[Math.floor(Math.random() * urn.length)])
      await works[work]()
      counts[work]++
    },
    async lock() {
      openMs = Number.POSITIVE_INFINITY
      lockedMs = performance.now()
      await expectSuccess(call('POST', '/lock', ADMIN))
    },
    async unlock() {
      await expectSuccess(call('POST', '/unlock', undefined, { passphrase: UNLOCK_PASSPHRASE }))
      openMs = performance.now()
      locks++
    },
    async checkCounters() {
      for (const { id } of KEYS) {
        const { text } = await expectSuccess(call('GET', `/keys/${id}`, ADMIN))
        const { operations } = JSON.parse(text) as { operations: number }
        const unsure = interrupted[id] ?? 0
        const counted = operations - 1 // the first was given when the key was made
        if (counted < counts[id] - unsure || counted > counts[id])
          throw new Error(`${id} has counted ${counted} signatures of ${counts[id]}`)
      }
    },
    done: () => Object.values(counts).reduce((sum, count) => sum + count, 0),
    totals: () => ({ counts, locks, verified }),
  }
}

/** Ed25519 signs the digest as its message; for the others OpenSSL makes the digest itself. */
function isRight(
  { type }: BenchKey,
  key: KeyObject,
  message: Uint8Array,
  digest: Uint8Array,
  signature: Uint8Array,
): boolean {
  if (type === 'Curve25519') return verify(null, digest, key, signature)
  if (type === 'EC_P256') return verify('sha256', message, key, signature)
  return verify('sha256', message, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }, signature)
}

function report(seconds: number, result: Outcome): void {
  const { maximum, rate, counts, locks, verified, residentMib: samples, problem } = result
  const [least, most] = [Math.min(...samples), Math.max(...samples)].map((mib) => mib.toFixed(0))
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
  console.log(`${seconds} s, ${total} requests: at most ${maximum.toFixed(0)} a second, then ${rate.toFixed(0)}`)
  console.log(
    Object.entries(counts)
      .map(([work, count]) => `${work} ${count}`)
      .join(', '),
  )
  console.log(
    `${locks} locks and unlocks, ${verified} signatures verified, resident ${least} to ${most} MiB while locked`,
  )
  writeResults('soak', { seconds, ...result })
  console.log(problem ?? 'no error, memory flat')
}
