/**
 * The etcd of a node without a boot manager's process: what the boot manager does, in the test's own process. Members find each
 * other over Unix sockets, so that no port is taken, unless they are given addresses.
 */

import { type ChildProcess, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createEtcdKeeper } from '../../boot/etcd/etcd.ts'
import { createRunner, dataIn, socketIn } from '../../boot/etcd/runner.ts'
import type { ToFirmware } from '../../firmware/channel/protocol.ts'
import { createEtcdService, type EtcdService } from '../../firmware/cluster/etcd/service.ts'
import { pauseProcess } from './proc.ts'
import { MEMORY_DIRECTORY } from './tools.ts'

const TIMEOUTS = { restartMs: 100, restartMsMax: 400, steadyMs: 60_000, stopMsMax: 5000 }

export interface TestEtcd {
  readonly service: EtcdService
  /** `unix://NAME.peer:0`: for members of one `common` directory, without TLS. */
  readonly peerUrl: string
  readonly directory: string
  readonly dataDirectory: string
  readonly lines: readonly string[]
  readonly pid: number | null
  readonly starts: number
  /** SIGKILL; it comes back by itself. Resolves when it is gone. */
  kill(): Promise<void>
  /** SIGSTOP, until it stands still; and on with it. */
  pause(): Promise<void>
  resume(): void
}

interface TestEtcdOptions {
  name?: string
  /** Directory of members that find each other over Unix sockets; default: a new one. */
  common?: string
  listenUrl?: (peerUrl: string) => string
}

export function makeCommonDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-members-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

export function createTestEtcd(t: TestContext, options: TestEtcdOptions = {}): TestEtcd {
  const { name = 'a', common = makeCommonDirectory(t) } = options
  const directory = join(common, name)
  introduce(common, name)
  let child: ChildProcess | null = null
  let starts = 0
  const lines: string[] = []
  let receive = (_message: ToFirmware): void => {}

  const ownSocket = (peerUrl: string): string => {
    if (!peerUrl.startsWith('unix://')) return peerUrl
    rmSync(join(directory, peerUrl.slice('unix://'.length)), { force: true }) // as a killed one left it
    return peerUrl
  }
  const keeper = createEtcdKeeper({
    runner: createRunner({
      program: programOf('etcd'),
      launcher: [programOf('setpriv'), '--pdeathsig=KILL'],
      directory,
      listenUrl: (peerUrl) => ownSocket(options.listenUrl?.(peerUrl) ?? peerUrl),
      users: { etcdId: null, firmwareId: null },
      secretDirectory: MEMORY_DIRECTORY,
    }),
    lock: null,
    // As over the channel: later, and bytes as copies.
    send: (message) => setImmediate(() => receive(structuredClone(message))),
    onLines: (more) => lines.push(...more),
    onLaunch: (process) => {
      child = process
      starts++
      process.once('close', () => {
        if (child === process) child = null
      })
    },
    timeouts: TIMEOUTS,
  })
  const service = createEtcdService({
    socket: socketIn(directory),
    send: (message) => {
      if (message.type !== 'etcd') return
      const { step } = structuredClone(message)
      setImmediate(() => keeper.take(step))
    },
  })
  receive = service.receive
  t.after(async () => {
    child?.kill('SIGCONT')
    await keeper.stop()
    rmSync(common, { recursive: true, force: true })
  })

  return {
    service,
    peerUrl: `unix://${name}.peer:0`,
    directory,
    dataDirectory: dataIn(directory),
    lines,
    get pid() {
      return child?.pid ?? null
    },
    get starts() {
      return starts
    },
    async kill() {
      if (child === null) return
      const ended = once(child, 'close')
      child.kill('SIGKILL')
      await ended
    },
    pause: () => pauseProcess(child!.pid!),
    resume: () => void child!.kill('SIGCONT'),
  }
}

/** Each finds the sockets of all others in its own directory: a name without a path is all that etcd takes before 3.5. */
function introduce(common: string, name: string): void {
  const others = readdirSync(common)
  mkdirSync(join(common, name))
  for (const other of others) {
    link(common, name, other)
    link(common, other, name)
  }
}

function link(common: string, from: string, to: string): void {
  const socket = `${to}.peer:0`
  const path = join(common, from, socket)
  if (!existsSync(path)) symlinkSync(`../${to}/${socket}`, path)
}

const programOf = (name: string): string =>
  spawnSync('/bin/sh', ['-c', 'command -v "$1"', 'sh', name], { encoding: 'utf8' }).stdout.trim()
