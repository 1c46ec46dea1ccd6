/**
 * The firmware, and in the same process a probe that tries from inside what must not work there. Each check prints one
 * line. What Node's permission model forbids is tried through node:fs; what the kernel forbids, through the SQLite
 * addon, which the permission model does not see.
 */

import { spawnSync } from 'node:child_process'
import { copyFileSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { isMainThread } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { Worker } from '../../../firmware/base/confinement.ts'
import { FOREIGN, SECRETS } from './secrets.ts'

const START_MS = 1500 // the firmware is up by then, with all of its descriptors open
const EXTENSION = `linux-${process.arch}.node`

type Check = () => void | Promise<void>

async function probe(): Promise<void> {
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check()
      console.log(`probe: ${name}: holds`)
    } catch (error) {
      console.log(`probe: ${name}: DOES NOT HOLD: ${(error as Error).message}`)
    }
  }
  console.log('probe: finished')
}

const store = process.cwd()
const program = process.argv[1]!.replace(/[^/]+$/, '')

const checks: Record<string, Check> = {
  'an ordinary user without further groups': () => {
    expectEqual(status('Uid'), '1000 1000 1000 1000')
    expectEqual(status('Gid'), '1000 1000 1000 1000')
    expectEqual(status('Groups'), '')
  },
  'no capability in any set but that of ports below 1024': () => {
    const bit = (1 << 10).toString(16).padStart(16, '0') // CAP_NET_BIND_SERVICE
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) expectEqual(status(set), bit)
  },
  'no new privileges': () => expectEqual(status('NoNewPrivs'), '1'),
  'no way back to root': () => {
    expectRefused('EPERM', () => process.setuid!(0))
    expectRefused('EPERM', () => process.setgid!(0))
    expectRefused('EPERM', () => process.setgroups!([0]))
  },
  'no signals to the boot manager': () => expectRefused('EPERM', () => process.kill(process.ppid, 0)),
  'no higher priority': () => expectRefused('ERR_SYSTEM_ERROR', () => setPriority(-10)),

  'JavaScript reads nothing but program and store': () => {
    for (const path of [...SECRETS, '/etc/passwd', '/usr/bin/node', '/'])
      expectRefused('ERR_ACCESS_DENIED', () => readFileSync(path))
    readFileSync(`${program}package.json`)
  },
  'JavaScript writes nothing but the store': () => {
    for (const path of FOREIGN) expectRefused('ERR_ACCESS_DENIED', () => writeFileSync(path, 'x'))
    writeFileSync(`${store}/probe`, 'x')
    rmSync(`${store}/probe`)
  },
  'JavaScript starts no program': () => {
    for (const command of [process.execPath, '/bin/busybox'])
      expectRefused('ERR_ACCESS_DENIED', () => spawnSync(command, ['true']))
    expectRefused('ERR_ACCESS_DENIED', () => process.execve!(process.execPath, [process.execPath, '--version'], {}))
  },
  'a thread is confined as well': async () => {
    expectEqual(await codeInThread("require('fs').readFileSync('/etc/passwd')"), 'ERR_ACCESS_DENIED')
  },

  'native code reads no secret of the system': () => {
    for (const path of SECRETS) expectRefused('SQLITE_CANTOPEN', () => readNatively(path))
    expectRefused('SQLITE_NOTADB', () => readNatively(`${program}firmware.js`)) // so this would tell
  },
  'native code writes nothing but the store': () => {
    for (const path of FOREIGN) expectRefused('SQLITE_CANTOPEN', () => writeNatively(path))
    writeNatively(`${store}/probe.db`)
    rmSync(`${store}/probe.db`)
  },
  'native code cannot be brought along': async () => {
    const own = `${store}/extension.node`
    copyFileSync(`${program}${EXTENSION}`, own)
    try {
      expectRefused('ERR_ACCESS_DENIED', () => process.dlopen({ exports: {} }, own))
      // A thread that Node would let: the file system does not.
      expectEqual(await codeInThread(`process.dlopen({ exports: {} }, '${own}')`), 'ERR_DLOPEN_FAILED')
    } finally {
      rmSync(own)
    }
  },

  'no descriptor of anybody else': () => {
    const targets = readdirSync('/proc/self/fd').flatMap(linkOf)
    const known = /^(socket|pipe|anon_inode):|^\/dev\/(null|u?random)$|^\/proc\/|^\/app\//
    const foreign = targets.filter((target) => !known.test(target) && !target.startsWith(`${store}/`))
    expectEqual(foreign.join(' '), '')
  },
  'limits of its own': () => {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    expectMatch(limits, /^Max core file size +0 +0 /m)
    expectMatch(limits, /^Max open files +4096 +4096 /m)
    expectEqual(readFileSync('/proc/self/oom_score_adj', 'utf8').trim(), '500')
  },
  'nothing of the machine in the environment': () => expectEqual(Object.keys(process.env).join(' '), 'GLIBC_TUNABLES'),
}

function status(field: string): string {
  const value = new RegExp(`^${field}:(.*)$`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
  return value === undefined ? 'missing' : value.trim().replaceAll(/\s+/g, ' ')
}

async function codeInThread(expression: string): Promise<unknown> {
  const post = "require('worker_threads').parentPort.postMessage"
  const worker = new Worker(`try { ${expression}; ${post}('allowed') } catch ({ code }) { ${post}(code) }`, {
    eval: true,
  })
  const { promise, resolve } = Promise.withResolvers<unknown>()
  worker.once('message', resolve).once('error', resolve)
  const code = await promise
  await worker.terminate()
  return code
}

function readNatively(path: string): void {
  natively(path, 'PRAGMA other.schema_version')
}

function writeNatively(path: string): void {
  natively(path, 'CREATE TABLE other.probe (x)')
}

/** SQLite opens what is attached by itself; a database given by name would be looked at through node:fs first. */
function natively(path: string, statement: string): void {
  const database = new Database(':memory:')
  try {
    database.prepare('ATTACH ? AS other').run(path)
    database.exec(statement)
  } finally {
    database.close()
  }
}

function linkOf(descriptor: string): string[] {
  try {
    return [readlinkSync(`/proc/self/fd/${descriptor}`)]
  } catch {
    return []
  }
}

function expectRefused(code: string, action: () => unknown): void {
  try {
    action()
  } catch (error) {
    expectEqual((error as NodeJS.ErrnoException).code, code)
    return
  }
  throw new Error(`not refused: ${action}`)
}

function expectEqual(actual: unknown, expected: unknown): void {
  if (actual !== expected) throw new Error(`${actual} instead of ${expected}`)
}

function expectMatch(text: string, pattern: RegExp): void {
  if (!pattern.test(text)) throw new Error(`no ${pattern}`)
}

// Last, because what follows waits until the firmware ends.
if (isMainThread) setTimeout(probe, START_MS)
await import('../../../firmware/main.ts')
