/** Keeps one firmware running: starts it, restarts it with back-off when it ends unasked, stops it cleanly. */

import type { ChildProcess } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { CHANNEL_DESCRIPTOR, type Channel, openChannel } from '../../firmware/channel/channel.ts'
import type { ToBoot, ToFirmware } from '../../firmware/channel/protocol.ts'
import { readMessage } from '../../firmware/channel/to-boot.ts'
import { splitLines } from '../console/lines.ts'
import { adopt, type Command, type Early, launch } from './firmware-process.ts'

/** How the supervisor waits; tests shorten it. */
export interface Patience {
  /** After the first crash; doubled with each further one. */
  restartMs: number
  restartMsMax: number
  /** A firmware that ran this long has recovered: the next crash counts as the first again. */
  steadyMs: number
  pingMs: number
  /** Silent for this long, it is hung. Generous: a large store, or scrypt on both cores of a slow device, keep it busy. */
  silenceMsMax: number
  /** For counters, checkpoint and wiping; then SIGKILL. */
  stopMsMax: number
}

const PATIENCE: Patience = {
  restartMs: 500,
  restartMsMax: 60_000,
  steadyMs: 60_000,
  pingMs: 10_000,
  silenceMsMax: 120_000,
  stopMsMax: 15_000,
}

const CRASHES_ALARMING = 5 // from here on the line says that this does not look like bad luck

export interface SupervisorOptions {
  /** Asked at each start. */
  command: () => Command
  /** Inherited by the firmware, see lock.ts. */
  lock: number | null
  /** Taken for the first start, if it is what that asks for. */
  early?: Early | null
  /** The first message; its secrets are wiped once it is sent. */
  startMessage: () => Extract<ToFirmware, { type: 'start' }>
  onMessage: (message: ToBoot) => void
  /** The firmware ended unasked; it comes back by itself. */
  onCrash: (explanation: string, what: string) => void
  /** Lines that the firmware printed, or that tell of it. */
  onLines: (lines: string[]) => void
  patience?: Patience
}

export interface Supervisor {
  start(): void
  /** Without effect while no firmware runs. */
  send(message: ToFirmware): void
  /** Hands over a passphrase and wipes it. */
  unlock(passphrase: Uint8Array): void
  /** Resolves when no firmware runs: true when it ended by itself, false when it had to be killed. */
  stop(): Promise<boolean>
}

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const patience = options.patience ?? PATIENCE
  let early = options.early ?? null
  let child: ChildProcess | null = null
  let channel: Channel<ToBoot, ToFirmware> | null = null
  let restart: NodeJS.Timeout | undefined
  let stopping = false
  let crashes = 0

  // A channel that broke is followed by the end of the process, which is handled there.
  const send = (message: ToFirmware) => channel?.send(message)

  const start = () => {
    stopping = false
    const startedAt = performance.now()
    const command = options.command()
    const firmware = adopt(early, command) ?? launch(command, options.lock)
    early = null
    child = firmware
    let heardAt = startedAt
    const watch = setInterval(() => {
      if (performance.now() - heardAt > patience.silenceMsMax) {
        options.onLines([`The firmware has not answered for ${patience.silenceMsMax / 1000} s and is killed.`])
        firmware.kill('SIGKILL')
      } else send({ type: 'ping' })
    }, patience.pingMs)

    for (const stream of [firmware.stdout!, firmware.stderr!]) {
      const lines = splitLines(options.onLines)
      stream.on('data', lines.write)
      stream.on('end', lines.end)
    }
    channel = openChannel(firmware.stdio[CHANNEL_DESCRIPTOR] as Duplex, readMessage)
    channel.on('message', (message) => {
      heardAt = performance.now()
      options.onMessage(message)
    })
    channel.on('refused', (why) => {
      options.onLines([`The firmware ${why}. It is killed.`])
      firmware.kill('SIGKILL')
    })
    let failure = ''
    firmware.on('error', (error: NodeJS.ErrnoException) => {
      failure = `could not be started (${error.code ?? error.name})`
    })
    firmware.on('close', (code, signal) => {
      clearInterval(watch)
      child = null
      channel = null
      if (stopping) return
      if (performance.now() - startedAt >= patience.steadyMs) crashes = 0
      restartLater(failure || `ended with ${signal ?? `exit code ${code}`}`)
    })

    const message = options.startMessage()
    send(message)
    message.deviceKey?.fill(0)
  }

  const restartLater = (what: string) => {
    crashes++
    const delayMs = Math.min(patience.restartMs * 2 ** (crashes - 1), patience.restartMsMax)
    const often = crashes >= CRASHES_ALARMING ? ` ${crashes} times in a row; the lines above may say why` : ''
    restart = setTimeout(start, delayMs)
    options.onCrash(`The firmware ${what}${often}. It is started again in ${delayMs / 1000} s.`, what)
  }

  const stop = async (): Promise<boolean> => {
    stopping = true
    clearTimeout(restart)
    const firmware = child
    if (firmware === null) return true
    let killed = false
    const closed = new Promise((resolve) => firmware.once('close', resolve))
    send({ type: 'stop' })
    const impatience = setTimeout(() => {
      killed = true
      firmware.kill('SIGKILL')
    }, patience.stopMsMax)
    await closed
    clearTimeout(impatience)
    return !killed
  }

  return {
    start,
    stop,
    send,
    unlock: (passphrase) => {
      send({ type: 'unlock', passphrase })
      passphrase.fill(0)
    },
  }
}
