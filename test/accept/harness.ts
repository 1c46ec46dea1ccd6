/** Runs the appliance as a user does, the boot manager in a process of its own, and speaks to it over HTTPS. */

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { Agent } from 'node:https'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, provision as provisionWith, stateOf } from '../support/appliance.ts'
import { type Call, type Reply, request } from '../support/client.ts'

export const UNLOCK = 'words that unlock it'
export const ADMIN = 'admin:words of the administrator'
export const BASE = '/api/v1'

const root = resolve(import.meta.dirname, '../..')
const START_MS_MAX = 30_000
const STOP_MS_MAX = 15_000
const LOG_CHARACTERS_MAX = 4_000_000 // enough for a suite; the beginning is kept

export interface Appliance {
  readonly host: string
  readonly port: number
  readonly dataDirectory: string
  /** `path` is relative to `/api/v1`; a full target starts with `//`, e.g. `//docs`. */
  call(method: string, path: string, call?: Call): Promise<Reply>
  state(): Promise<string>
  /** The boot manager, then the firmware. */
  processes(): number[]
  /** Resident memory of both processes. */
  residentBytes(): number
  /** Everything both processes wrote so far. */
  log(): string
  /** The boot manager's process is gone. */
  ended(): boolean
  /** SIGTERM, waits for the end, and returns the exit code. The data directory is kept. */
  stop(): Promise<number | null>
  /** Starts again on the same data directory and port. */
  restart(): Promise<void>
  /** Stops and removes the data directory. */
  dispose(): Promise<void>
}

export interface Options {
  dataDirectory?: string
  logLevel?: 'debug' | 'info' | 'warning' | 'error'
}

export async function startAppliance(options: Options = {}): Promise<Appliance> {
  const dataDirectory = options.dataDirectory ?? mkdtempSync(join(tmpdir(), 'coffer-accept-'))
  const host = '127.0.0.1'
  const port = await freePort()
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity, rejectUnauthorized: false, timeout: 0 })
  let child: ChildProcess
  let log = ''
  const append = (bytes: Buffer) => {
    if (log.length < LOG_CHARACTERS_MAX) log += bytes.toString('utf8')
  }

  const start = async () => {
    // A clean environment: the boot manager refuses settings it does not know.
    const env: Record<string, string> = {}
    for (const name of ['PATH', 'HOME', 'LANG', 'TMPDIR', 'CI']) {
      const value = process.env[name]
      if (value !== undefined) env[name] = value
    }
    Object.assign(env, {
      COFFER_DATA: dataDirectory,
      COFFER_HOST: host,
      COFFER_PORT: String(port),
      COFFER_LOG: options.logLevel ?? 'info',
    })
    child = spawn(process.execPath, [entry()], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
    running.add(child)
    const started = child
    child.once('exit', () => running.delete(started))
    child.stdout!.on('data', append)
    child.stderr!.on('data', append)
    await answering()
  }

  const ended = () => child.exitCode !== null || child.signalCode !== null

  const answering = async () => {
    const deadline = Date.now() + START_MS_MAX
    for (;;) {
      if (ended())
        throw new Error(`the appliance ended (${child.exitCode ?? child.signalCode}) at start:\n${tail(log)}`)
      try {
        const reply = await request({ host, port, agent }, 'GET', `${BASE}/health/state`)
        if (reply.status === 200) return
      } catch {
        // Not listening yet.
      }
      if (Date.now() > deadline) throw new Error(`no answer within ${START_MS_MAX} ms:\n${tail(log)}`)
      await delay(50)
    }
  }

  const stop = async () => {
    agent.destroy()
    if (ended()) return child.exitCode
    const end = new Promise<number | null>((done) => child.once('exit', done))
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
    const code = await end
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
    log: () => log,
    async call(method, path, call) {
      const target = path.startsWith('//') ? path.slice(1) : BASE + path
      try {
        return await request({ host, port, agent }, method, target, call)
      } catch (error) {
        if (ended()) throw new Error(`the appliance ended (${child.exitCode ?? child.signalCode}):\n${tail(log)}`)
        throw new Error(`${method} ${target.slice(0, 200)}: ${(error as Error).message}`, { cause: error })
      }
    },
    state: () => stateOf(appliance),
    processes: () => processesFrom(child.pid!),
    residentBytes: () => processesFrom(child.pid!).reduce((sum, pid) => sum + residentBytes(pid), 0),
    ended,
    stop,
    restart: async () => {
      await stop()
      await start()
    },
    dispose: async () => {
      await stop()
      rmSync(dataDirectory, { recursive: true, force: true })
    },
  }
  return appliance
}

/** Provisions with `UNLOCK` and `ADMIN`. */
export const provision = (appliance: Appliance, systemTime = new Date().toISOString()): Promise<void> =>
  provisionWith(appliance, {
    unlockPassphrase: UNLOCK,
    adminPassphrase: ADMIN.slice('admin:'.length),
    systemTime,
  })

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

/** Every user made by these suites has a passphrase told by its id. */
export const passphraseOf = (userId: string) => `words of ${userId}`
export const credentialsOf = (userId: string) => `${userId}:${passphraseOf(userId)}`

/** Returns the credentials of the new user. */
export async function addUser(appliance: Appliance, userId: string, role: string, as = ADMIN): Promise<string> {
  const json = { realName: `name of ${userId}`, role, passphrase: passphraseOf(userId) }
  await expect(201, appliance.call('PUT', `/users/${userId}`, { as, json }))
  return credentialsOf(userId)
}

export const delay = (ms: number) => new Promise<void>((done) => setTimeout(done, ms))

const tail = (text: string) => text.slice(-4000)

/** The bundle if it is built from the sources as they are, else the sources. */
function entry(): string {
  const bundles = ['dist/boot.js', 'dist/firmware.js', 'dist/worker.js'].map((path) => join(root, path))
  const sources = ['boot', 'firmware'].map((path) => join(root, path)).flatMap(files)
  const newest = Math.max(...sources.map((path) => statSync(path).mtimeMs))
  const built = bundles.every((path) => existsSync(path) && statSync(path).mtimeMs >= newest)
  return built ? bundles[0]! : join(root, 'boot/main.ts')
}

function files(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

/** A process and its children: proc(5). */
function processesFrom(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  return [pid, ...children.flatMap((child) => processesFrom(Number(child)))]
}

const residentBytes = (pid: number): number =>
  Number(/^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024

function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer().once('error', fail)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => done(port))
    })
  })
}

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
