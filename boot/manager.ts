/** The story of a start: firmware on a platform, and the conversation between its states and the console. */

import { PRODUCT } from '../firmware/channel/product.ts'
import type { Network, SlotAnswer, SlotStep, ToBoot } from '../firmware/channel/protocol.ts'
import { openConsole } from './console/console.ts'
import type { Action, Next, Platform } from './platform.ts'
import { createChatProcess } from './supervisor/chat-process.ts'
import { linkOf } from './supervisor/firmware-process.ts'
import { createJoint } from './supervisor/joint.ts'
import { chatProgramOf } from './supervisor/own-firmware.ts'
import { createSupervisor } from './supervisor/supervisor.ts'
import { explain, SlotConflict } from './versions/slot-error.ts'
import type { Running } from './versions/slots.ts'
import { createTrial } from './versions/trial.ts'

export function run(platform: Platform): void {
  let listening: Extract<ToBoot, { type: 'listening' }> | null = null
  let network: Network | null = null
  /** True from the first `Locked` of a firmware on: what follows was then no unattended start. */
  let wasLocked = false
  let ending = false
  let changing = false
  /** The firmware that runs has been told how far we are. */
  let isKept = false
  /** Set at each start, before anything else happens. */
  let running!: Running
  let toldFallback: string | null = null

  const terminal = openConsole({
    input: process.stdin,
    output: process.stdout,
    onPassphrase: (passphrase) => {
      if (passphrase === null) askAgain('That is too long: a passphrase has at most 200 bytes.')
      else if (passphrase.length === 0) terminal.ask()
      else supervisor.unlock(passphrase)
    },
    shared: platform.sharesTerminal,
    onInterrupt: () => end(0),
  })

  const onLines = platform.logTo(terminal.print)
  const joint = createJoint()

  const supervisor = createSupervisor({
    command: () => {
      running = platform.slots.choose()
      const { version, fallback } = running
      if (running.trial) terminal.print(`Version ${version} is on trial.`)
      else if (fallback !== null && fallback !== toldFallback)
        terminal.print(`${fallback}. Version ${version} is running.`)
      toldFallback = fallback
      trial.begin(running)
      return {
        launcher: platform.launcher,
        program: running.program,
        readable: running.readable,
        storeDirectory: platform.settings.dataDirectory,
        heapMegabytes: platform.heapMegabytes,
      }
    },
    lock: platform.lock,
    early: platform.early,
    onLaunch: (process) => {
      const pipe = linkOf(process)
      joint.joinFirmware(pipe, (why) => {
        onLines([`The firmware ${why}. It is killed.`])
        process.kill('SIGKILL')
      })
      pipe.on('close', () => chat.want('none')) // it has its key from this one
    },
    startMessage: () => {
      wasLocked = false
      isKept = false
      terminal.silence()
      const deviceKey = platform.deviceKey()
      if ('problem' in deviceKey) terminal.print(`The device key cannot be used: ${deviceKey.problem}.`)
      return {
        type: 'start',
        settings: platform.settings,
        deviceKey: 'key' in deviceKey ? deviceKey.key : null,
        ...('problem' in deviceKey && deviceKey.withheld && { withheld: deviceKey.problem }),
        ...(platform.starts?.last !== undefined && { count: platform.starts.last }),
        software: { trial: running.trial, fallback: running.fallback },
      }
    },
    onMessage: (message) => {
      if (ending) return
      trial.receive(message)
      receive(message)
    },
    onCrash: (explanation, what) => {
      trial.crashed(`the firmware ${what}`)
      terminal.release()
      terminal.print(explanation)
    },
    onLines,
  })

  const chat = createChatProcess({
    command: () => {
      const { launcher, heapMegabytes, makeDirectory } = platform.chat!
      makeDirectory()
      return {
        launcher,
        program: chatProgramOf(running.program),
        readable: running.readable,
        storeDirectory: platform.settings.chat!.directory,
        heapMegabytes,
      }
    },
    lock: platform.lock,
    onLaunch: (process) => joint.joinChat(linkOf(process)),
    onDown: (problem) => supervisor.send({ type: 'chatDown', problem }),
    onLines,
  })

  const trial = createTrial({
    slots: platform.slots,
    retry: () => change(() => platform.perform('reboot')),
    onGood: () => {
      terminal.print(`Version ${running.version} is good.`)
      supervisor.send({ type: 'good' })
      running = { ...running, trial: false }
      keepStart()
    },
  })

  function receive(message: ToBoot): void {
    switch (message.type) {
      case 'listening':
        listening = message
        break
      case 'state':
        enter(message)
        break
      case 'unlockResult':
        if (message.result === 'wrong') askAgain('Wrong passphrase.')
        else if (message.result === 'tooManyAttempts') askAgain('Too many attempts: wait a second before the next one.')
        else if (message.result === 'failed') askAgain(`The unlock failed: ${message.message ?? 'no reason given'}.`)
        break // otherwise a state message takes the prompt away
      case 'refused':
        terminal.print(`Coffer does not start: ${message.reason}.`)
        end(1)
        break
      case 'request':
        request(message.action)
        break
      case 'network':
        network = message.network
        platform.applyNetwork(network)
        break
      case 'ntp':
        platform.applyNtp(message.ntp, () => supervisor.send({ type: 'timeKept' }))
        break
      case 'tlsKey':
        terminal.print(`TLS key ${message.fingerprint}`)
        break
      case 'slot':
        supervisor.send({ type: 'slotResult', ...take(message.step) })
        break
      case 'kept':
        countStart(message.count)
        break
      case 'chat':
        if (platform.chat !== null && !changing) chat.want(message.wanted)
        break
      case 'pong':
        break
    }
  }

  function enter({ state, reason }: Extract<ToBoot, { type: 'state' }>): void {
    if (state === 'Locked' && reason === undefined && terminal.canAsk()) {
      terminal.release()
      terminal.print(`${PRODUCT.product}\nVersion ${running.version}\n${url()}`)
      terminal.ask()
    } else {
      terminal.release()
      const start = state === 'Operational' && !wasLocked ? 'started unattended, ' : ''
      const why = state === 'Failed' || reason !== undefined ? `: ${reason ?? 'no reason given'}` : ''
      const next = state === 'Locked' && reason === undefined ? ', waiting for the passphrase at /api/v1/unlock' : ''
      terminal.print(`${PRODUCT.product} ${running.version} at ${url()}: ${start}${state}${why}${next}`)
    }
    wasLocked ||= state === 'Locked' || state === 'Unprovisioned'
    if (state !== 'Failed' && reason === undefined) keepStart()
  }

  /** Once the store is open, and what has opened it is good. */
  function keepStart(): void {
    const start = platform.starts?.current ?? null
    if (running.trial || isKept || start === null) return
    isKept = true
    supervisor.send({ type: 'keep', ...start })
  }

  function countStart(held: number): void {
    const problem = platform.starts?.count(held) ?? null
    if (problem !== null)
      terminal.print(`This start is not counted, so what is put back of it would go unnoticed: ${problem}.`)
  }

  function url(): string {
    if (listening === null) return ''
    const address = platform.shownAddress(listening.address, network)
    return `https://${address.includes(':') ? `[${address}]` : address}:${listening.port}`
  }

  function askAgain(notice: string): void {
    terminal.print(notice)
    terminal.ask()
  }

  /** Nobody is told that something will be done before it is sure to be. */
  function request(action: Action): void {
    let problem = changing ? 'The appliance is being stopped already' : null
    try {
      if (problem === null) platform.prepare(action)
    } catch (error) {
      problem = `This could not be noted on the disk: ${explain(error)}`
    }
    supervisor.send({ type: 'requestResult', problem })
    if (problem === null) change(() => platform.perform(action))
  }

  function take(step: SlotStep): SlotAnswer {
    try {
      platform.slots.take(step)
      return { problem: null }
    } catch (error) {
      if (error instanceof SlotConflict) return { problem: error.message, conflict: true }
      const verb = step.do === 'activate' ? 'activated' : 'stored'
      return { problem: `The update cannot be ${verb}: ${explain(error)}` }
    }
  }

  /** Between two runs of the firmware. */
  async function change(action: () => Promise<Next>): Promise<void> {
    if (changing) return
    changing = true
    trial.end()
    await chat.stop() // while the firmware still takes its last lines
    await supervisor.stop()
    if (ending) return
    const next = await action()
    changing = false
    if (next === 'start') supervisor.start()
    else end(next.exitCode)
  }

  async function end(exitCode: number): Promise<void> {
    if (ending) return
    ending = true
    trial.end()
    terminal.release()
    const isChatClean = await chat.stop()
    if (!isChatClean) terminal.print('The chat did not stop in time and was killed.')
    const isClean = await supervisor.stop()
    if (!isClean) terminal.print('The firmware did not stop in time and was killed.')
    process.exit(isClean ? exitCode : 1)
  }

  process.on('SIGINT', () => end(0))
  process.on('SIGTERM', () => end(0))
  // The terminal was closed. Without one the signal keeps its meaning, so that nohup(1) works.
  if (process.stdin.isTTY) process.on('SIGHUP', () => end(0))
  supervisor.start()
}
