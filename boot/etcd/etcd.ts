/**
 * Runs the etcd of a cluster's member as another child process: starts it at the firmware's request, restarts it after a crash,
 * and continues to run it while the firmware restarts.
 */

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, rmSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { defined } from '../../firmware/base/defined.ts'
import { readDiskUsage } from '../../firmware/base/disk-space.ts'
import { wipe } from '../../firmware/base/secret.ts'
import type { EtcdAnswer, EtcdLaunch, EtcdState, EtcdStep, ToFirmware } from '../../firmware/channel/protocol.ts'
import { keepRunning, type RestartTimeouts } from '../supervisor/keep-running.ts'
import { createEtcdLines } from './lines.ts'
import { ETCD_ENVIRONMENT, type EtcdVersion, etcdParameters, quotaFor, readVersion } from './parameters.ts'
import { portConflict } from './port-owner.ts'
import { type EtcdRunner, eraseIn, hasDataIn, socketIn } from './runner.ts'

interface EtcdOptions {
  runner: EtcdRunner
  /** Inherited by the process, see directory-lock.ts. */
  lock: number | null
  send: (message: ToFirmware) => void
  onLines: (lines: string[]) => void
  onLaunch?: (process: ChildProcess) => void
  timeouts?: RestartTimeouts
}

export interface EtcdKeeper {
  /** Performs steps one at a time. Each is answered to the firmware. */
  take(step: EtcdStep): void
  /** Call it when a new firmware starts: requests of the previous one are not answered. */
  forget(): void
  /** Resolves when etcd has stopped; false if it had to be killed. */
  stop(): Promise<boolean>
}

const TIMEOUTS: RestartTimeouts = {
  restartMs: 500,
  restartMsMax: 60_000,
  steadyMs: 60_000,
  stopMsMax: 5000, // time to transfer leadership; all acknowledged data is on disk
}
const VERSION_MS_MAX = 60_000 // a machine that has just started is slow
const NICE = -5 // above threads that sign: late heartbeats cause elections
const REMOVED = 'it is no longer a member of the cluster'
/** Message in etcd's log after its removal from the cluster. */
const TOLD_WHEN_REMOVED = 'the member has been permanently removed from the cluster'
/** Message in etcd's log about a listening address. */
const PORT_TAKEN = 'bind: address already in use'
const LOST = 'its data is missing, and an empty member must not take its name'

class EtcdProblem extends Error {
  readonly isConflict: boolean

  constructor(message: string, isConflict = false) {
    super(message)
    this.isConflict = isConflict
  }
}

interface Run {
  launch: EtcdLaunch
  version: EtcdVersion
  quotaBytes: number
  identity: number | null
  authority: number | null
  digest: string
}

export function createEtcdKeeper(options: EtcdOptions): EtcdKeeper {
  const { runner, lock, send, onLines, onLaunch = () => {}, timeouts = TIMEOUTS } = options
  const { directory } = runner
  let run: Run | null = null
  /** True if etcd had data when this run started. */
  let hadData = false
  let isRemoved = false
  let isPortTaken = false
  let state: EtcdState = { running: false }
  let firmwares = 0
  let last: Promise<unknown> = Promise.resolve()

  const tell = (lines: string[]) => {
    if (lines.length === 0) return
    onLines(lines)
    for (const line of lines) send({ type: 'etcdLines', lines: [line] }) // one line per message, since a burst exceeds a frame
  }
  const tellState = (next: EtcdState) => {
    state = next
    send({ type: 'etcdState', state })
  }
  const readable = createEtcdLines()

  const process = keepRunning({
    name: "cluster's etcd",
    launch: () => {
      isRemoved = false
      isPortTaken = false
      removeSocket(directory)
      return launchEtcd(runner, defined(run), lock)
    },
    onLaunch: (child) => {
      tellState({ running: true })
      child.once('close', (code, signal) => {
        const how = signal === null ? { exited: (code ?? 0) & 0xff } : { signaled: constants.signals[signal] }
        tellState({ running: false, ...how })
      })
      onLaunch(child)
    },
    askToEnd: (child) => child.kill('SIGTERM'),
    obstacle: () => (isRemoved ? REMOVED : hadData && !hasDataIn(directory) ? LOST : null),
    onCrash: (explanation, what, { isLast }) => {
      tell([explanation])
      send({ type: 'etcdEnded', problem: what, isRemoved })
      if (isLast) forgetRun()
    },
    onLines: (lines) => {
      isRemoved ||= lines.some((line) => line.includes(TOLD_WHEN_REMOVED))
      isPortTaken ||= lines.some((line) => line.includes(PORT_TAKEN))
      tell(readable(lines))
    },
    explainEnd: () => {
      const conflict = isPortTaken && run !== null ? conflictAt(runner.listenUrl(run.launch.peerUrl)) : null
      return conflict && `found ${conflict}`
    },
    timeouts,
  })

  const forgetRun = () => {
    for (const file of [run?.identity, run?.authority]) if (file !== undefined && file !== null) closeSync(file)
    run = null
  }

  const stop = async (): Promise<boolean> => {
    const isClean = await process.stop()
    forgetRun()
    return isClean
  }

  async function start(launch: EtcdLaunch): Promise<void> {
    const hasData = hasDataIn(directory)
    const digest = digestOf(launch)
    if (launch.how === 'run' && run !== null && run.digest === digest) return
    if (launch.how === 'run' && !hasData) throw new EtcdProblem(`Cannot start the local etcd: ${LOST}`, true)
    if (launch.how !== 'run' && hasData)
      throw new EtcdProblem('Cannot start the local etcd: the data of a former one is present', true)
    await stop()
    const version = await versionOf(runner)
    runner.makeDirectory()
    const { tls } = launch
    const identity = tls && identityOf(tls)
    try {
      run = {
        launch: { ...launch, tls: tls && { ...tls, key: new Uint8Array(0) } },
        version,
        quotaBytes: quotaFor(readDiskUsage(directory).totalBytes),
        identity: identity && runner.openFile(identity),
        authority: null,
        digest,
      }
      if (tls !== null) run.authority = runner.openFile(tls.authority)
    } catch (error) {
      forgetRun()
      throw error
    } finally {
      wipe(identity)
    }
    hadData = hasData
    process.start()
  }

  const perform = async (step: EtcdStep): Promise<void> => {
    switch (step.do) {
      case 'run':
        return start(step.start)
      case 'stop':
        await stop()
        return
      case 'erase':
        await stop()
        return eraseIn(directory)
      case 'look':
        return
    }
  }

  const answerTo = async (step: EtcdStep): Promise<EtcdAnswer> => {
    const found = { problem: null as string | null, isConflict: false }
    try {
      await perform(step)
    } catch (error) {
      Object.assign(found, explain(error))
    } finally {
      if (step.do === 'run') wipe(step.start.tls?.key)
    }
    const hasData = hasDataIn(directory)
    hadData ||= hasData
    return { problem: found.problem, ...(found.isConflict && { conflict: true }), hasData, state }
  }

  const runQueued = <T>(work: () => Promise<T>): Promise<T> => {
    const done = last.then(work)
    last = done
    return done
  }

  return {
    take(step) {
      const asked = firmwares
      void runQueued(async () => {
        const answer = await answerTo(step)
        if (asked === firmwares) send({ type: 'etcdResult', ...answer })
      })
    },
    forget() {
      firmwares++
    },
    stop: () => runQueued(stop),
  }
}

/** Removes the socket of a killed etcd: before 3.6, the next one finds the address in use. */
function removeSocket(directory: string): void {
  try {
    rmSync(socketIn(directory), { force: true })
  } catch {} // etcd reports the problem itself
}

function launchEtcd({ launcher, program, directory, listenUrl }: EtcdRunner, run: Run, lock: number | null) {
  const { launch, version, quotaBytes, identity, authority } = run
  const told = etcdParameters(launch, listenUrl(launch.peerUrl), version, quotaBytes)
  const [file = program, ...parameters] = [...launcher, program, ...told]
  const child = spawn(file, parameters, {
    cwd: directory,
    env: ETCD_ENVIRONMENT,
    stdio: ['ignore', 'pipe', 'pipe', lock ?? 'ignore', identity ?? 'ignore', authority ?? 'ignore'],
    detached: true, // Ctrl-C must reach the boot manager only
  })
  try {
    if (child.pid !== undefined) setPriority(child.pid, NICE)
  } catch {} // requires root
  return child
}

function conflictAt(listenUrl: string): string | null {
  const { hostname, port } = new URL(listenUrl)
  return portConflict(hostname, Number(port))
}

/** Runs the program as its own user. */
function versionOf({ launcher, program }: EtcdRunner): Promise<EtcdVersion> {
  const [file = program, ...parameters] = [...launcher, program, '--version']
  const { promise, resolve, reject } = Promise.withResolvers<EtcdVersion>()
  execFile(
    file,
    parameters,
    { cwd: '/', env: {}, timeout: VERSION_MS_MAX, killSignal: 'SIGKILL' },
    (error, printed) => {
      const version = error === null ? readVersion(printed) : null
      if (version === null) reject(new EtcdProblem('Cannot run the etcd program, or it is not etcd'))
      else resolve(version)
    },
  )
  return promise
}

/** Key and certificate in one file, so that they always match. */
function identityOf({ certificate, key }: NonNullable<EtcdLaunch['tls']>): Uint8Array {
  const identity = new Uint8Array(certificate.length + 1 + key.length)
  identity.set(certificate)
  identity[certificate.length] = 0x0a
  identity.set(key, certificate.length + 1)
  return identity
}

/** Digest of the parameters that matter once etcd has data. */
function digestOf({ name, peerUrl, tls }: EtcdLaunch): string {
  const hash = createHash('sha256').update(JSON.stringify([name, peerUrl]))
  if (tls !== null) for (const part of [tls.certificate, tls.key, tls.authority]) hash.update(part).update('\0')
  return hash.digest('hex')
}

function explain(error: unknown): { problem: string; isConflict: boolean } {
  if (error instanceof EtcdProblem) return { problem: error.message, isConflict: error.isConflict }
  const { code } = error as NodeJS.ErrnoException
  if (code === undefined) throw error
  return { problem: `Cannot start the local etcd: the disk failed (${code})`, isConflict: false }
}
