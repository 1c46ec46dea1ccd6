/** Reads what arrives from the boot manager: nothing that is not of the protocol goes further. */

import type {
  ChatPlace,
  EtcdPlace,
  EtcdState,
  FirmwareSettings,
  OutgoingPlace,
  Software,
  ToFirmware,
} from './protocol.ts'

const LEVELS = ['debug', 'info', 'warning', 'error'] as const

/** The message, rebuilt from its checked members, or null when it is none of the protocol's. */
export function readToFirmware(value: unknown): ToFirmware | null {
  const members = membersOf(value)
  switch (members?.type) {
    case 'start':
      return readStart(members)
    case 'unlock':
      return members.passphrase instanceof Uint8Array ? { type: 'unlock', passphrase: members.passphrase } : null
    case 'requestResult': {
      const { problem } = members
      return isNullOr(problem, isText) ? { type: 'requestResult', problem: problem as string | null } : null
    }
    case 'slotResult': {
      const { problem, conflict } = members
      if (problem !== null && typeof problem !== 'string') return null
      return { type: 'slotResult', problem, ...(conflict === true && { conflict }) }
    }
    case 'keep': {
      const { minimum, count } = members
      if (typeof minimum !== 'string' || !isNullOr(count, Number.isSafeInteger)) return null
      return { type: 'keep', minimum, count: count as number | null }
    }
    case 'chatDown':
    case 'outgoingDown':
      return typeof members.problem === 'string' ? { type: members.type, problem: members.problem } : null
    case 'etcdResult': {
      const { problem, conflict, hasData } = members
      const state = readEtcdState(members.state)
      if (!isNullOr(problem, isText) || typeof hasData !== 'boolean' || state === null) return null
      return {
        type: 'etcdResult',
        problem: problem as string | null,
        ...(conflict === true && { conflict }),
        hasData,
        state,
      }
    }
    case 'etcdState': {
      const state = readEtcdState(members.state)
      return state === null ? null : { type: 'etcdState', state }
    }
    case 'etcdEnded': {
      const { problem, isRemoved } = members
      if (typeof problem !== 'string' || typeof isRemoved !== 'boolean') return null
      return { type: 'etcdEnded', problem, isRemoved }
    }
    case 'timeServer': {
      const { isHeard } = members
      return typeof isHeard === 'boolean' ? { type: 'timeServer', isHeard } : null
    }
    case 'etcdLines':
      return Array.isArray(members.lines) && members.lines.every(isText)
        ? { type: 'etcdLines', lines: members.lines as string[] }
        : null
    case 'ping':
    case 'stop':
    case 'good':
    case 'timeKept':
      return { type: members.type }
    default:
      return null
  }
}

function readStart({ settings, deviceKey, withheld, count, software }: Members): ToFirmware | null {
  const read = { settings: readSettings(settings), software: readSoftware(software) }
  if (read.settings === null || read.software === null || !isNullOr(deviceKey, (key) => key instanceof Uint8Array))
    return null
  return {
    type: 'start',
    settings: read.settings,
    deviceKey: deviceKey as Uint8Array | null,
    ...(typeof withheld === 'string' && { withheld }),
    ...(Number.isSafeInteger(count) && { count: count as number }),
    software: read.software,
  }
}

function readSettings(value: unknown): FirmwareSettings | null {
  const { dataDirectory, host, port, httpPort, furtherHttpPorts, logLevel, releaseKey, ...others } =
    membersOf(value) ?? {}
  const { chat, outgoing, etcd, console } = others
  const level = LEVELS.find((level) => level === logLevel)
  if (typeof dataDirectory !== 'string' || typeof host !== 'string' || level === undefined) return null
  if (!isPort(port) || !isNullOr(httpPort, isPort) || !isNullOr(releaseKey, (key) => key instanceof Uint8Array)) {
    return null
  }
  const chatPlace = readChatPlace(chat)
  const outgoingPlace = readOutgoingPlace(outgoing)
  const etcdPlace = readEtcdPlace(etcd)
  return {
    dataDirectory,
    host,
    port,
    httpPort: httpPort as number | null,
    ...(arePorts(furtherHttpPorts) && { furtherHttpPorts }),
    logLevel: level,
    releaseKey: releaseKey as Uint8Array | null,
    ...(chatPlace !== null && { chat: chatPlace }),
    ...(outgoingPlace !== null && { outgoing: outgoingPlace }),
    ...(etcdPlace !== null && { etcd: etcdPlace }),
    ...(typeof console === 'boolean' && { console }),
  }
}

function readChatPlace(value: unknown): ChatPlace | null {
  const { directory, port, portChoices } = membersOf(value) ?? {}
  if (typeof directory !== 'string' || !isPort(port)) return null
  return { directory, port, ...(arePorts(portChoices) && { portChoices }) }
}

const arePorts = (value: unknown): value is number[] => Array.isArray(value) && value.every(isPort)

function readOutgoingPlace(value: unknown): OutgoingPlace | null {
  const { onHost } = membersOf(value) ?? {}
  return typeof onHost === 'boolean' ? { onHost } : null
}

function readEtcdPlace(value: unknown): EtcdPlace | null {
  const { socket, isolatedMaxMs } = membersOf(value) ?? {}
  if (typeof socket !== 'string' || typeof isolatedMaxMs !== 'number' || !(isolatedMaxMs >= 0)) return null
  return { socket, isolatedMaxMs }
}

function readEtcdState(value: unknown): EtcdState | null {
  const { running, exited, signaled } = membersOf(value) ?? {}
  if (typeof running !== 'boolean') return null
  return {
    running,
    ...(Number.isSafeInteger(exited) && { exited: exited as number }),
    ...(Number.isSafeInteger(signaled) && { signaled: signaled as number }),
  }
}

function readSoftware(value: unknown): Software | null {
  const { trial, fallback } = membersOf(value) ?? {}
  if (typeof trial !== 'boolean' || !isNullOr(fallback, isText)) return null
  return { trial, fallback: fallback as string | null }
}

type Members = Record<string, unknown>

const membersOf = (value: unknown): Members | null =>
  typeof value === 'object' && value !== null ? (value as Members) : null

const isNullOr = (value: unknown, isFit: (value: unknown) => boolean): boolean => value === null || isFit(value)

const isText = (value: unknown): boolean => typeof value === 'string'

const isPort = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 65_535
