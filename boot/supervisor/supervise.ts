/** Keeps a process with a channel running: sends pings, and asks it to stop. */

import type { ChildProcess } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { CHANNEL_DESCRIPTOR, type FramedChannel, openChannel } from '../../firmware/channel/channel.ts'
import type { ToEveryProcess } from '../../firmware/channel/protocol.ts'
import { keepRunning, type RestartTimeouts, type RunningOptions, type RunningProcess } from './keep-running.ts'

/** Waiting times; tests shorten them. */
export interface ProcessTimeouts extends RestartTimeouts {
  pingMs: number
  /**
   * After this time without a message, the process counts as hung. It is generous, since a large store, or scrypt on both cores
   * of a slow device, keeps it busy.
   */
  silenceMsMax: number
}

const PROCESS_TIMEOUTS: ProcessTimeouts = {
  restartMs: 500,
  restartMsMax: 60_000,
  steadyMs: 60_000,
  pingMs: 10_000,
  silenceMsMax: 120_000,
  stopMsMax: 15_000, // time for counters, checkpoint and wiping
}

interface ProcessOptions<In, Out extends object>
  extends Pick<RunningOptions, 'name' | 'launch' | 'onCrash' | 'onLines'> {
  /** Parses a value from the process; null if it is no message. */
  read: (value: unknown) => In | null
  greet?: (send: (message: Out) => void) => void
  onMessage: (message: In) => void
  timeouts?: ProcessTimeouts
}

interface SupervisedProcess<Out> extends RunningProcess {
  /** Has no effect while the process does not run. */
  send(message: Out | ToEveryProcess): void
}

export function supervise<In, Out extends object>(options: ProcessOptions<In, Out>): SupervisedProcess<Out> {
  const { name, onLines } = options
  const timeouts = options.timeouts ?? PROCESS_TIMEOUTS
  let channel: FramedChannel<In, Out | ToEveryProcess> | null = null

  // A broken channel is followed by the end of the process, which is handled there.
  const send = (message: Out | ToEveryProcess) => channel?.send(message)

  const onLaunch = (process: ChildProcess): void => {
    let heardAt = performance.now()
    const watch = setInterval(() => {
      if (performance.now() - heardAt > timeouts.silenceMsMax) {
        onLines([`The ${name} has not answered for ${timeouts.silenceMsMax / 1000} s and is killed.`])
        process.kill('SIGKILL')
      } else send({ type: 'ping' })
    }, timeouts.pingMs)

    channel = openChannel(process.stdio[CHANNEL_DESCRIPTOR] as Duplex, options.read)
    channel.on('message', (message) => {
      heardAt = performance.now()
      options.onMessage(message)
    })
    channel.on('refused', (why) => {
      onLines([`The ${name} ${why}. It is killed.`])
      process.kill('SIGKILL')
    })
    process.on('close', () => {
      clearInterval(watch)
      channel = null
    })
    options.greet?.(send)
  }

  const running = keepRunning({
    name,
    launch: options.launch,
    onLaunch,
    askToEnd: () => send({ type: 'stop' }),
    onCrash: options.onCrash,
    onLines,
    timeouts,
  })
  return { ...running, send }
}
