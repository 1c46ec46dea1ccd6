/** A Coffer for all tests of a suite: it keeps its port and its data directory when it is started again. */

import { mkdtempSync, rmSync } from 'node:fs'
import { Agent } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../../tools/free-ports.ts'
import { type Client, expect, provision as provisionWith, stateOf } from './appliance.ts'
import { buildForTests } from './build.ts'
import { BASE, request, targetOf } from './client.ts'
import { familyOf, residentBytes } from './proc.ts'
import { type Coffer, startCoffer } from './process.ts'

/** Words that occur nowhere else: some suites look for them in logs and in memory. */
export const UNLOCK = 'words that unlock it'
export const ADMIN = 'admin:words of the administrator'

const START_MS_MAX = 30_000
const STOP_MS_MAX = 15_000

export interface Appliance extends Client {
  readonly host: string
  readonly port: number
  readonly dataDirectory: string
  state(): Promise<string>
  /** The boot manager, then the firmware. */
  processes(): number[]
  residentBytes(): number
  log(): string
  ended(): boolean
  /** SIGTERM, waits for the end, and returns the exit code. The data directory is kept. */
  stop(): Promise<number | null>
  /** Starts again on the same data directory and port. */
  restart(): Promise<void>
  dispose(): Promise<void>
}

export interface Options {
  dataDirectory?: string
  logLevel?: 'debug' | 'info' | 'warning' | 'error'
  /** Further environment variables, besides those of the options above. */
  settings?: Record<string, string>
}

export async function startAppliance(options: Options = {}): Promise<Appliance> {
  const dataDirectory = options.dataDirectory ?? mkdtempSync(join(tmpdir(), 'coffer-accept-'))
  const host = '127.0.0.1'
  const port = await freePort()
  const settings = {
    COFFER_HOST: host,
    COFFER_PORT: String(port),
    COFFER_LOG: options.logLevel ?? 'info',
    ...options.settings,
  }
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity, rejectUnauthorized: false, timeout: 0 })
  const program = await buildForTests()
  let earlier = ''
  let coffer: Coffer

  const log = () => earlier + coffer.output()
  const tail = () => log().slice(-4000)

  const start = async () => {
    coffer = startCoffer(null, { program, data: dataDirectory, settings })
    const deadline = Date.now() + START_MS_MAX
    for (;;) {
      if (!coffer.running()) throw new Error(`the appliance ended (${await coffer.ended}) at start:\n${tail()}`)
      const reply = await request({ host, port, agent }, 'GET', `${BASE}/health/state`).catch(() => null) // not yet
      if (reply?.status === 200) return
      if (Date.now() > deadline) throw new Error(`no answer within ${START_MS_MAX} ms:\n${tail()}`)
      await wait(50)
    }
  }

  const stop = async () => {
    agent.destroy()
    const timer = setTimeout(() => coffer.kill(true).catch(() => {}), STOP_MS_MAX) // it may just have ended
    const code = await coffer.stop()
    clearTimeout(timer)
    return code
  }

  try {
    await start()
  } catch (error) {
    await stop()
    throw error
  }
  const appliance: Appliance = {
    host,
    port,
    dataDirectory,
    log,
    async call(method, path, call) {
      const target = targetOf(path)
      try {
        return await request({ host, port, agent }, method, target, call)
      } catch (error) {
        if (!coffer.running()) throw new Error(`the appliance ended (${await coffer.ended}):\n${tail()}`)
        throw new Error(`${method} ${target.slice(0, 200)}: ${(error as Error).message}`, { cause: error })
      }
    },
    state: () => stateOf(appliance),
    processes: () => familyOf(coffer.bootPid()),
    residentBytes: () => familyOf(coffer.bootPid()).reduce((sum, pid) => sum + residentBytes(pid), 0),
    ended: () => !coffer.running(),
    stop,
    restart: async () => {
      await stop()
      earlier = log()
      await start()
    },
    dispose: async () => {
      await stop()
      rmSync(dataDirectory, { recursive: true, force: true })
    },
  }
  return appliance
}

/** Provisions with `UNLOCK` and `ADMIN`. With `COFFER_TEST_TRANSIT=on` the transit API is on: test/accept/transit-on.test.ts. */
export async function provision(appliance: Appliance, systemTime = new Date().toISOString()): Promise<void> {
  const adminPassphrase = ADMIN.slice('admin:'.length)
  await provisionWith(appliance, { unlockPassphrase: UNLOCK, adminPassphrase, systemTime })
  if (process.env.COFFER_TEST_TRANSIT !== 'on') return
  await expect(204, appliance.call('PUT', '/config/interfaces', { as: ADMIN, json: { transit: 'on', tokenHours: 24 } }))
  await expect(200, appliance.call('GET', '//v1/sys/health'))
}

export async function startProvisioned(options: Options = {}): Promise<Appliance> {
  const appliance = await startAppliance(options)
  try {
    await provision(appliance)
  } catch (error) {
    await appliance.dispose()
    throw error
  }
  return appliance
}

export const passphraseOf = (userId: string) => `words of ${userId}`
export const credentialsOf = (userId: string) => `${userId}:${passphraseOf(userId)}`

export async function addUser(appliance: Appliance, userId: string, role: string, as = ADMIN): Promise<string> {
  const json = { realName: `name of ${userId}`, role, passphrase: passphraseOf(userId) }
  await expect(201, appliance.call('PUT', `/users/${userId}`, { as, json }))
  return credentialsOf(userId)
}
