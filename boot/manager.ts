/** Starts the firmware on a platform and processes its messages. */

import type { SlotAnswer, SlotStep, ToBoot, ToFirmware } from '../firmware/channel/protocol.ts'
import { type Conversation, createConversation } from './conversation.ts'
import { createEtcdKeeper, type EtcdKeeper } from './etcd/etcd.ts'
import { createJoinedProcess, type JoinedProcess } from './joined-process.ts'
import type { Action, Platform } from './platform.ts'
import { createRestartSequence, type RestartSequence } from './restart-sequence.ts'
import { createStartCount, type StartCount } from './start-count.ts'
import type { FirmwareCommand } from './supervisor/firmware-process.ts'
import { isBundled, programBeside } from './supervisor/own-firmware.ts'
import { createSupervisor, type Supervisor } from './supervisor/supervisor.ts'
import { openConsole, type Terminal } from './terminal/terminal.ts'
import { explain, SlotConflict } from './versions/slot-error.ts'
import type { Running, Slots } from './versions/slots.ts'
import { createTrial } from './versions/trial.ts'

export function run(platform: Platform): void {
  const { slots } = platform
  let running!: Running
  const terminal = openConsole({
    input: process.stdin,
    output: process.stdout,
    onPassphrase: (passphrase) => conversation.passphrase(passphrase),
    shared: platform.sharesTerminal,
    onInterrupt: () => turns.end(0),
  })
  const onLines = platform.logTo(terminal)
  const announce = createAnnouncement(terminal.print)

  const supervisor = createSupervisor({
    command: () => {
      running = slots.choose()
      announce(running)
      trial.begin(running)
      return commandOf(platform, running)
    },
    lock: platform.lock,
    early: platform.early,
    onLaunch: (process) => {
      for (const joined of [chat, outgoing]) joined.join(process)
      etcd?.forget()
    },
    startMessage: () => {
      conversation.begin()
      starts.begin()
      return startMessage(platform, running, terminal)
    },
    onMessage: (message) => {
      if (turns.isEnding) return
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
  const { send } = supervisor
  const common = { lock: platform.lock, onLines }
  const chat = createJoinedProcess({
    ...common,
    name: 'chat',
    command: () => chatCommand(platform, running),
    onDown: (problem) => send({ type: 'chatDown', problem }),
  })
  const outgoing = createJoinedProcess({
    ...common,
    name: 'outgoing',
    command: () => outgoingCommand(platform, running),
    onDown: (problem) => send({ type: 'outgoingDown', problem }),
  })
  const runner = platform.etcd
  const etcd = runner === null ? null : createEtcdKeeper({ runner, lock: platform.lock, send, onLines })
  const trial = createTrial({
    slots,
    retry: () => turns.change(() => platform.perform('reboot')),
    onGood: () => {
      terminal.print(`Version ${running.version} is good.`)
      send({ type: 'good' })
      running = { ...running, trial: false }
      starts.keep()
    },
  })
  const version = () => running.version
  const { shownAddress } = platform
  const conversation = createConversation({ terminal, version, shownAddress, unlock: supervisor.unlock })
  const starts = createStartCount({ starts: () => platform.starts, send, print: terminal.print })
  const turns = createRestartSequence({
    terminal,
    endTrial: trial.end,
    stopOthers: [
      { name: 'chat', stop: chat.stop },
      { name: 'process for outgoing connections', stop: outgoing.stop },
    ],
    stopFirmware: supervisor.stop,
    stopEtcd: async () => (await etcd?.stop()) ?? true,
    startFirmware: supervisor.start,
  })
  const isOnTrial = () => running.trial
  const joined = { chat, outgoing }
  const receive = createReceiver({
    platform,
    terminal,
    conversation,
    starts,
    isOnTrial,
    joined,
    etcd,
    supervisor,
    turns,
  })

  endOnSignals(turns)
  supervisor.start()
}

interface Parts {
  platform: Platform
  terminal: Terminal
  conversation: Conversation
  starts: StartCount
  isOnTrial: () => boolean
  joined: Readonly<Record<'chat' | 'outgoing', JoinedProcess>>
  etcd: EtcdKeeper | null
  supervisor: Supervisor
  turns: RestartSequence
}

function createReceiver(parts: Parts): (message: ToBoot) => void {
  const { platform, terminal, conversation, starts, isOnTrial, joined, etcd, supervisor, turns } = parts
  return (message) => {
    switch (message.type) {
      case 'listening':
        return conversation.listening(message)
      case 'state':
        conversation.state(message)
        if (message.state !== 'Failed' && message.reason === undefined && !isOnTrial()) starts.keep()
        return
      case 'unlockResult':
        return conversation.unlockResult(message)
      case 'refused':
        terminal.print(`Coffer does not start: ${message.reason}.`)
        turns.end(1)
        return
      case 'request':
        return request(message.action, parts)
      case 'network':
        conversation.network(message.network)
        return platform.applyNetwork(message.network)
      case 'ntp':
        return platform.applyNtp(message.ntp, {
          onTime: () => supervisor.send({ type: 'timeKept' }),
          onServer: (isHeard) => supervisor.send({ type: 'timeServer', isHeard }),
        })
      case 'tlsKey':
        return terminal.print(`TLS key ${message.fingerprint}`)
      case 'slot':
        return supervisor.send({ type: 'slotResult', ...take(platform.slots, message.step) })
      case 'kept':
        return starts.kept(message.count)
      case 'chat':
      case 'outgoing':
        if (platform[message.type] !== null && !turns.isChanging) joined[message.type].want(message.wanted)
        return
      case 'etcd':
        if (!turns.isChanging) etcd?.take(message.step) // etcd must not start while it is being stopped
        return
      case 'pong':
        return
    }
  }
}

/** Confirms an action to the firmware only once it is certain to be performed. */
function request(action: Action, { platform, supervisor, turns }: Parts): void {
  let problem = turns.isChanging ? 'The appliance is being stopped already' : null
  try {
    if (problem === null) platform.prepare(action)
  } catch (error) {
    problem = `Cannot store the request on the disk: ${explain(error)}`
  }
  supervisor.send({ type: 'requestResult', problem })
  if (problem === null) turns.change(() => platform.perform(action))
}

function take(slots: Slots, step: SlotStep): SlotAnswer {
  try {
    slots.take(step)
    return { problem: null }
  } catch (error) {
    if (error instanceof SlotConflict) return { problem: error.message, conflict: true }
    const verb = step.do === 'activate' ? 'activated' : 'stored'
    return { problem: `The update cannot be ${verb}: ${explain(error)}` }
  }
}

/** Announces the version if it is on trial or a fallback; a fallback is announced once. */
function createAnnouncement(print: (text: string) => void): (running: Running) => void {
  let announced: string | null = null
  return ({ version, trial, fallback }) => {
    if (trial) print(`Version ${version} is on trial.`)
    else if (fallback !== null && fallback !== announced) print(`${fallback}. Version ${version} is running.`)
    announced = fallback
  }
}

const commandOf = (
  { launcher, settings, heapMegabytes }: Platform,
  { program, readable }: Running,
): FirmwareCommand => ({
  serves: 'firmware',
  launcher,
  program,
  readable,
  storeDirectory: settings.dataDirectory,
  heapMegabytes,
})

function chatCommand({ chat, settings }: Platform, { program, readable }: Running): FirmwareCommand {
  if (chat === null || settings.chat === undefined) throw new Error('This platform has no chat')
  const { launcher, heapMegabytes, makeDirectory } = chat
  makeDirectory()
  return {
    serves: 'chat',
    launcher,
    program: programBeside(program, 'chat'),
    readable,
    storeDirectory: settings.chat.directory,
    heapMegabytes,
  }
}

/** It reads nothing but its own program; sources are many files. */
function outgoingCommand({ outgoing }: Platform, running: Running): FirmwareCommand {
  if (outgoing === null) throw new Error('This platform has no outgoing connections')
  const { launcher, heapMegabytes } = outgoing
  const program = programBeside(running.program, 'outgoing')
  const readable = isBundled(program) ? [program] : running.readable
  return { serves: 'outgoing', launcher, program, readable, storeDirectory: null, heapMegabytes }
}

function startMessage(
  { settings, starts, deviceKey }: Platform,
  { trial, fallback }: Running,
  { print }: Terminal,
): Extract<ToFirmware, { type: 'start' }> {
  const key = deviceKey()
  if ('problem' in key) print(`The device key cannot be used: ${key.problem}.`)
  return {
    type: 'start',
    settings,
    deviceKey: 'key' in key ? key.key : null,
    ...('problem' in key && key.withheld && { withheld: key.problem }),
    ...(starts?.last !== undefined && { count: starts.last }),
    software: { trial, fallback },
  }
}

function endOnSignals({ end }: RestartSequence): void {
  process.on('SIGINT', () => end(0))
  process.on('SIGTERM', () => end(0))
  // The terminal was closed. Without a terminal the signal keeps its default, so that nohup(1) works.
  if (process.stdin.isTTY) process.on('SIGHUP', () => end(0))
}
