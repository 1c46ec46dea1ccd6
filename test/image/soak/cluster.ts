/**
 * A long run of mixed use of a cluster whose third member is a device in QEMU; the two others run on this computer, with the same etcd.
 * Minutes of use at half of what the device can do take turns with minutes in which it does nothing but sign, as fast as it can. Fails
 * when a process of the device ended, its memory grew, there was an election, a signature was refused, or a change for any reason but
 * that it takes too long.
 *
 * Root starts it in a network of its own: `sudo npm run soak:cluster`, with COFFER_SOAK_MINUTES, COFFER_SOAK_MEMORY in megabytes and COFFER_SOAK_KEYS.
 */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { readArchitecture } from '../../../image/architecture.ts'
import { openEtcdProgram } from '../../../image/etcd-program.ts'
import { fillKeys } from '../../../tools/bench/fill.ts'
import { type Call, createClient, KEYS, quantile, writeResults } from '../../../tools/bench/harness.ts'
import { API_PORT } from '../../../tools/qemu/machine.ts'
import { growthOf } from '../../../tools/soak.ts'
import { ADMIN, ADMIN_PASSPHRASE, expect, UNLOCK_PASSPHRASE } from '../../support/appliance.ts'
import { bringIn, type ClusterNode, equip, type Peer, startNodes, until } from '../../support/cluster.ts'
import { boot, clientAt } from '../../support/machine.ts'
import { ROOT } from '../../support/made-once.ts'
import { makeDirectory, needsGo } from '../images.ts'
import { makeProvisionedDisk } from '../provisioned.ts'
import { soakImage } from './image.ts'
import { MARK, type Sample } from './sample.ts'

const MINUTE_MS = 60_000
const JOIN_MS_MAX = 40 * MINUTE_MS
const setting = (name: string, usual: number): number => Number(process.env[`COFFER_SOAK_${name}`] ?? usual)
const minutes = setting('MINUTES', 60)
const memoryMegabytes = setting('MEMORY', 1024)
const keys = setting('KEYS', 100_000)

const ADDRESS = '192.168.1.1' // of the device
const OTHERS = ['192.168.1.2', '192.168.1.3'] // on this computer
const TAP = 'coffer0'
const CLIENTS = 16
const WARM_UP_SHARE = 0.15 // of the time: what is warmed up then is no growth
const HOST_PAUSE_MS = 1000 // between two changes at another member
const KEYS_KEPT = 20 // of those made; older ones are deleted
const OPERATOR = 'operator:words of an operator'
const UNDECIDED = /was not done|It is not known whether|does not answer/

const WEIGHTS = { ed25519: 35, p256: 30, rsa2048: 20, make: 6, show: 6, random: 2, list: 1 } as const
type Work = keyof typeof WEIGHTS

test(`${minutes} minutes of mixed use of a device of ${memoryMegabytes} MB with ${keys} keys in a cluster`, {
  ...needsGo(),
  timeout: minutes * MINUTE_MS + 3_600_000,
}, async (t) => {
  makeNetwork()
  const image = await soakImage()
  useEtcdOfImage(t)
  const { nodes, ca } = await startNodes(t, { addresses: OTHERS })
  const [first, second] = nodes as [ClusterNode, ClusterNode]
  const peerUrl = `https://${ADDRESS}:2380`
  const disk = await makeProvisionedDisk(t, image, ({ call }) => equip({ call, peerUrl }, ca))
  const device = await boot(t, image, { disk, memoryMegabytes, cable: { tap: TAP, macAddress: '52:54:00:12:34:01' } })
  await device.see(/started unattended, Operational/)
  await fill(first)
  const beganMs = performance.now()
  await bringIn(patient(first), patient(second))
  await bringIn(patient(first), patient({ peerUrl, ...clientAt(API_PORT, ADDRESS) }))
  say(`both have joined after ${seconds(performance.now() - beganMs)} s`)

  const samples = (): Sample[] => readSamples(device.output())
  const before = samples().length
  const used = await use(() => samples().at(-1))
  const taken = samples().slice(before)
  const results = judge(taken)
  say(JSON.stringify({ ...used, ...results }))
  writeResults('soak-cluster', { minutes, memoryMegabytes, keys, ...used, ...results })
  assert.deepEqual(results.problems, [])
})

/** Many keys take long: the device, emulated, some ten minutes to read 100,000. */
const patient = ({ peerUrl, call }: Peer): Peer => ({
  peerUrl,
  call: (method, path, content) => call(method, path, { ...content, timeoutMs: JOIN_MS_MAX }),
})

const readSamples = (output: string): Sample[] =>
  output.split(/\r?\n/).flatMap((line) => {
    try {
      return line.startsWith(MARK) ? [JSON.parse(line.slice(MARK.length)) as Sample] : []
    } catch {
      return []
    }
  })

function makeNetwork(): void {
  const ip = (...parameters: string[]): string => execFileSync('ip', parameters, { encoding: 'utf8' })
  const links = ip('-oneline', 'link').trim().split('\n').length
  assert.equal(links, 1, 'This is for a network of its own: npm run soak:cluster')
  ip('link', 'set', 'lo', 'up')
  ip('tuntap', 'add', 'dev', TAP, 'mode', 'tap')
  for (const address of OTHERS) ip('address', 'add', `${address}/24`, 'dev', TAP)
  ip('link', 'set', TAP, 'up')
}

/** Members of one cluster have the same minor version. */
function useEtcdOfImage(t: TestContext): void {
  const { program } = openEtcdProgram(readArchitecture('x64'), join(ROOT, 'dist/etcd'))!
  const directory = makeDirectory(t)
  chmodSync(directory, 0o755) // for the user that etcd runs as
  writeFileSync(join(directory, 'etcd'), program, { mode: 0o755 })
  process.env.PATH = `${directory}${delimiter}${process.env.PATH}`
}

async function fill(node: ClusterNode): Promise<void> {
  const passphrase = OPERATOR.slice(OPERATOR.indexOf(':') + 1)
  const operator = { realName: 'Operator', role: 'Operator', passphrase }
  await expect(201, node.call('PUT', '/users/operator', { as: ADMIN, json: operator }))
  for (const { name: _, mode: __, ...json } of KEYS)
    await expect(201, node.call('POST', '/keys/generate', { as: ADMIN, json }))
  await node.stop()
  await fillKeys(node.dataDirectory, keys, { unlock: UNLOCK_PASSPHRASE, admin: ADMIN_PASSPHRASE })
  node.start()
  await until('open member', async () => (await node.call('GET', '/health/ready').catch(() => null))?.status === 200)
}

interface Used {
  counts: Record<Work, number>
  /** Signatures a second, while nothing else is asked for. */
  signaturesPerSecond: number
  /** Changes that took too long, by what was said; and how long the longest was. */
  undecided: Record<string, number>
  longestMs: number
}

async function use(newest: () => Sample | undefined): Promise<Used> {
  const device = createClient({ host: ADDRESS, port: API_PORT }, CLIENTS)
  const other = createClient({ host: OTHERS[0]!, port: API_PORT }, 1)
  const user = createUser(device.call)
  const endMs = performance.now() + minutes * MINUTE_MS
  let isOver = false
  const atOther = (async () => {
    while (!isOver) {
      await user.change(other.call)
      await wait(HOST_PAUSE_MS)
    }
  })()
  const rates: number[] = []
  const phase = async (work: () => Promise<void>, perSecond = Number.POSITIVE_INFINITY): Promise<number> => {
    const beganMs = performance.now()
    const untilMs = Math.min(endMs, beganMs + MINUTE_MS)
    let done = 0
    await everyClient(async () => {
      while (performance.now() < untilMs) {
        const dueMs = beganMs + (done++ / perSecond) * 1000
        await wait(Math.max(0, dueMs - performance.now()))
        await work()
      }
    })
    return (done * 1000) / (performance.now() - beganMs)
  }
  try {
    let mixed = await phase(user.work)
    while (performance.now() < endMs) {
      rates.push(await phase(user.sign))
      const rate = await phase(user.work, mixed / 2)
      mixed = Math.max(mixed, rate)
      say(
        `${seconds(endMs - performance.now())} s left: ${rates.at(-1)!.toFixed(0)} signatures a second, then ${rate.toFixed(0)} requests; ${JSON.stringify(newest())}`,
      )
    }
  } finally {
    isOver = true
    await atOther
    device.close()
    other.close()
  }
  return { ...user.told(), signaturesPerSecond: quantile(rates, 0.5) }
}

const everyClient = (work: () => Promise<void>): Promise<unknown> => Promise.all(Array.from({ length: CLIENTS }, work))

interface User {
  work(): Promise<void>
  sign(): Promise<void>
  change(call: Call): Promise<void>
  told(): Pick<Used, 'counts' | 'undecided' | 'longestMs'>
}

function createUser(call: Call): User {
  const counts: Record<Work, number> = { ed25519: 0, p256: 0, rsa2048: 0, make: 0, show: 0, random: 0, list: 0 }
  const undecided: Record<string, number> = {}
  let longestMs = 0
  const made: string[] = []

  async function ask(method: string, path: string, as: string, json?: unknown): Promise<string> {
    const { status, text } = await call(method, path, as, json)
    if (status < 300) return text
    throw new Error(`${method} ${path}: ${status} ${text.slice(0, 200)}`)
  }

  /** False where it took too long. */
  async function askChange(by: Call, method: string, path: string, json?: unknown): Promise<boolean> {
    const beganMs = performance.now()
    const { status, text } = await by(method, path, ADMIN, json)
    if (status < 300) return true
    if (status !== 503 || !UNDECIDED.test(text)) throw new Error(`${method} ${path}: ${status} ${text.slice(0, 200)}`)
    undecided[text] = (undecided[text] ?? 0) + 1
    longestMs = Math.max(longestMs, performance.now() - beganMs)
    return false
  }

  async function change(by: Call): Promise<void> {
    const id = `soak-${randomBytes(8).toString('hex')}`
    const json = { id, type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
    if (await askChange(by, 'POST', '/keys/generate', json)) made.push(id)
    if (made.length <= KEYS_KEPT) return
    const oldest = made.shift()!
    if (!(await askChange(by, 'DELETE', `/keys/${oldest}`).catch(isGone))) made.push(oldest)
  }

  const sign = async (work: Work): Promise<void> => {
    const { mode } = KEYS.find(({ id }) => id === work)!
    const message = createHash('sha256').update(randomBytes(32)).digest('base64')
    await ask('POST', `/keys/${work}/sign`, OPERATOR, { mode, message })
  }
  const works: Record<Work, (work: Work) => Promise<unknown>> = {
    ed25519: sign,
    p256: sign,
    rsa2048: sign,
    make: () => change(call),
    show: () => ask('GET', '/keys/p256', OPERATOR),
    random: () => ask('POST', '/random', OPERATOR, { length: 32 }),
    list: () => ask('GET', '/keys', ADMIN),
  }
  const urn = Object.entries(WEIGHTS).flatMap(([work, weight]) => Array<Work>(weight).fill(work as Work))
  const run = async (work: Work): Promise<void> => {
    await works[work](work)
    counts[work]++
  }
  return {
    change,
    work: () => run(urn[Math.floor(Math.random() * urn.length)]!),
    sign: () => run(Math.random() < 0.5 ? 'ed25519' : 'p256'),
    told: () => ({ counts, undecided, longestMs: Math.round(longestMs) }),
  }
}

function isGone(error: unknown): boolean {
  if (error instanceof Error && /: 404 /.test(error.message)) return true
  throw error
}

function judge(samples: readonly Sample[]) {
  const problems: string[] = []
  const warm = samples.slice(Math.ceil(samples.length * WARM_UP_SHARE))
  const terms = new Set(samples.flatMap(({ term }) => term ?? []))
  if (terms.size !== 1) problems.push(`terms: ${[...terms].join(', ')}`)
  const killed = samples.at(-1)!.killed
  if (killed > 0) problems.push(`${killed} processes were ended for lack of memory`)
  const mib: Record<string, [first: number, last: number]> = {}
  for (const name of ['boot', 'firmware', 'etcd'] as const) {
    const own = (sample: Sample) => sample.processes.filter((process) => process.name === name)
    const pids = new Set(samples.flatMap(own).map(({ pid }) => pid))
    if (pids.size !== 1 || samples.some((sample) => own(sample).length !== 1)) problems.push(`the ${name} ended`)
    const taken = warm.flatMap(own).map(({ kibibytes }) => Math.round(kibibytes / 1024))
    const growth = growthOf(taken)
    if (growth !== null) problems.push(`${name}: ${growth}`)
    mib[name] = [Math.min(...taken), Math.max(...taken)]
  }
  const availableMib = Math.round(Math.min(...samples.map(({ availableKibibytes }) => availableKibibytes)) / 1024)
  return { samples: samples.length, term: [...terms][0], mib, availableMib, problems }
}

const seconds = (ms: number): string => (ms / 1000).toFixed(0)

const say = (text: string): void => console.log(text)
