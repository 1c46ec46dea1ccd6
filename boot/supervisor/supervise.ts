/** Keeps one process of ours running: starts it, restarts it with back-off when it ends unasked, stops it cleanly. */

import type { ChildProcess } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { CHANNEL_DESCRIPTOR, type Channel, openChannel } from '../../firmware/channel/channel.ts'
import type { ToEveryProcess } from '../../firmware/channel/protocol.ts'
import { splitLines } from '../console/lines.ts'

/** How we wait; tests shorten it. */
export interface Patience {
  /** After the first crash; doubled with each further one. */
  restartMs: number
  restartMsMax: number
  /** What ran this long has recovered: the next crash counts as the first again. */
  steadyMs: number
  pingMs: number
  /** Silent for this long, it is hung. Generous: a large store, or scrypt on both cores of a slow device, keep it busy. */
  silenceMsMax: number
  /** For counters, checkpoint and wiping; then SIGKILL. */
  stopMsMax: number
}

export const PATIENCE: Patience = {
  restartMs: 500,
  restartMsMax: 60_000,
  steadyMs: 60_000,
  pingMs: 10_000,
  silenceMsMax: 120_000,
  stopMsMax: 15_000,
}

const CRASHES_ALARMING = 5 // from here on the line says that this does not look like bad luck

export interface ProcessOptions<In, Out extends object> {
  /** As our lines call it: `firmware`. */
  name: string
  /** Called at each start. */
  launch: () => ChildProcess
  /** The message that a value from the process is, or null. */
  read: (value: unknown) => In | null
  /** Sends what it begins with. */
  greet?: (send: (message: Out) => void) => void
  onMessage: (message: In) => void
  /** It ended unasked; it comes back by itself unless `isLast`. */
  onCrash: (explanation: string, what: string, isLast: boolean) => void
  /** Lines that it printed, or that tell of it. */
  onLines: (lines: string[]) => void
  /** After so many crashes in a row it stays down; by default it always comes back. */
  crashesMax?: number
  patience?: Patience
}

export interface SupervisedProcess<Out> {
  /** Without effect while it runs, or is about to. */
  start(): void
  /** Without effect while it does not run. */
  send(message: Out | ToEveryProcess): void
  /** Resolves when it does not run: true when it ended by itself, false when it had to be killed. */
  stop(): Promise<boolean>
}

export function supervise<In, Out extends object>(options: ProcessOptions<In, Out>): SupervisedProcess<Out> {
  const { name, crashesMax = Number.POSITIVE_INFINITY } = options
  const patience = options.patience ?? PATIENCE
  let child: ChildProcess | null = null
  let channel: Channel<In, Out | ToEveryProcess> | null = null
  let restart: NodeJS.Timeout | undefined
  let stopping = false
  let crashes = 0

  // A channel that broke is followed by the end of the process, which is handled there.
  const send = (message: Out | ToEveryProcess) => channel?.send(message)

  const start = () => {
    clearTimeout(restart)
    if (child !== null) return
    stopping = false
    const startedAt = performance.now()
    const process = options.launch()
    child = process
    let heardAt = startedAt
    const watch = setInterval(() => {
      if (performance.now() - heardAt > patience.silenceMsMax) {
        options.onLines([`The ${name} has not answered for ${patience.silenceMsMax / 1000} s and is killed.`])
        process.kill('SIGKILL')
      } else send({ type: 'ping' })
    }, patience.pingMs)

    for (const stream of [process.stdout!, process.stderr!]) {
      const lines = splitLines(options.onLines)
      stream.on('data', lines.write)
      stream.on('end', lines.end)
    }
    channel = openChannel(process.stdio[CHANNEL_DESCRIPTOR] as Duplex, options.read)
    channel.on('message', (message) => {
      heardAt = performance.now()
      options.onMessage(message)
    })
    channel.on('refused', (why) => {
      options.onLines([`The ${name} ${why}. It is killed.`])
      process.kill('SIGKILL')
    })
    let failure = ''
    process.on('error', (error: NodeJS.ErrnoException) => {
      failure = `could not be started (${error.code ?? error.name})`
    })
    process.on('close', (code, signal) => {
      clearInterval(watch)
      child = null
      channel = null
      if (stopping) return
      if (performance.now() - startedAt >= patience.steadyMs) crashes = 0
      crashed(failure || `ended with ${signal ?? `exit code ${code}`}`)
    })
    options.greet?.(send)
  }

  const crashed = (what: string) => {
    crashes++
    const isLast = crashes >= crashesMax
    const delayMs = Math.min(patience.restartMs * 2 ** (crashes - 1), patience.restartMsMax)
    const often = crashes >= CRASHES_ALARMING ? ` ${crashes} times in a row; the lines above may say why` : ''
    const next = isLast
      ? `It is not started again after ${crashes} times in a row; the lines above may say why`
      : `It is started again in ${delayMs / 1000} s`
    if (isLast) crashes = 0
    else restart = setTimeout(start, delayMs)
    options.onCrash(`The ${name} ${what}${often}. ${next}.`, what, isLast)
  }

  const stop = async (): Promise<boolean> => {
    stopping = true
    clearTimeout(restart)
    const process = child
    if (process === null) return true
    let killed = false
    const closed = new Promise((resolve) => process.once('close', resolve))
    send({ type: 'stop' })
    const impatience = setTimeout(() => {
      killed = true
      process.kill('SIGKILL')
    }, patience.stopMsMax)
    await closed
    clearTimeout(impatience)
    return !killed
  }

  return { start, stop, send }
}
