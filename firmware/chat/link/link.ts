/**
 * What the appliance and the chat's process say to each other, as frames (firmware/channel/) on a pipe that the boot manager
 * joins. The appliance asks and the chat answers, each ask under a number of its own. The chat key and passwords travel as
 * bytes on this pipe only.
 */

import { CofferError, type ErrorCode } from '../../base/error.ts'
import type { LogLevel } from '../../base/log.ts'
import { type ChatAuditEvent, readChatAuditEvent } from './chat-audit-event.ts'

/** A process that has just been started hears `start` before anything else. */
export type ToChat =
  | { type: 'start'; start: Start }
  /** New connections get it. `cert` is PEM. */
  | { type: 'identity'; key: Uint8Array; cert: Uint8Array }
  /** The appliance's clock was set. */
  | { type: 'time'; offsetMs: number }
  /** The audit log may still grow by so much beyond the reserve: as `Start`. */
  | { type: 'auditGrowth'; bytes: number }
  /** The key goes: polls end, queues are saved, and everything is refused from now on. */
  | { type: 'close' }
  | { type: 'ask'; id: number; ask: Ask }
  /** To an `act` that changed something; not kept: the disk does not take it. */
  | { type: 'recorded'; id: number; isKept: boolean }

export interface Start {
  /** With a directory for each generation of the organization. */
  directory: string
  host: string
  /** 0 lets the system choose. */
  port: number
  key: Uint8Array
  cert: Uint8Array
  offsetMs: number
  logLevel: LogLevel
  /** Space of the disk that is promised to the audit log: no user of the chat may take it. */
  auditGrowthBytes: number
}

export type Ask =
  /**
   * Everything else in the directory goes. `kept` is what `commits` of that generation told last. Answered when the
   * organization is open.
   */
  | { do: 'open'; generation: string; chatKey: Uint8Array; kept: Uint8Array | null }
  | { do: 'create'; generation: string; chatKey: Uint8Array; organization: NewOrganization; password: Uint8Array }
  /** Nothing is left of any organization. */
  | { do: 'erase' }
  /** Answered with `Statistics`. */
  | { do: 'figures' }
  /** Answered with `OperatorSettings`. */
  | { do: 'settings' }
  | { do: 'changeSettings'; changes: OperatorChanges }
  | { do: 'recoverOwner'; email: string; password: Uint8Array }
  /** The database files stay as they are until `endCopy`, while writes go on. Answered with `CopiedFile[]`. */
  | { do: 'beginCopy' }
  /** Answered with the next bytes. */
  | { do: 'readCopy'; name: string; offset: number; bytes: number }
  | { do: 'endCopy' }
  /** A generation beside the present one, to be named by `open` later. What was received before goes. */
  | { do: 'receive'; generation: string }
  /** The next bytes of a file of that generation. */
  | { do: 'write'; name: string; bytes: Uint8Array }
  /** All of it is on the disk. */
  | { do: 'received' }

export interface NewOrganization {
  name: string
  url: string
  owner: { email: string; fullName: string }
}

export interface OperatorSettings {
  url: string
  ownerFullContentAccess: boolean
  /** Bounds all uploads together; null: a share of the disk, see realm/model/disk-room.ts. */
  uploadQuotaMib: number | null
  /** Whom bots with an address outside may reach: `host` at the port that its scheme has, or `host:port`. */
  outgoingHosts: readonly string[]
  /** Messages show pictures and videos of other hosts. */
  externalPreviews: boolean
  /** Whether somebody else signs people in, and how; null: nobody. */
  jwt: { algorithm: JwtAlgorithm } | null
}

export const JWT_ALGORITHMS = ['HS256', 'RS256', 'ES256'] as const
export type JwtAlgorithm = (typeof JWT_ALGORITHMS)[number]

/** What is given is set. */
export interface OperatorChanges extends Partial<Omit<OperatorSettings, 'jwt'>> {
  /** A secret, or a public key in PEM. */
  jwt?: { algorithm: JwtAlgorithm; key: Uint8Array } | null
}

export interface Statistics {
  name: string
  url: string
  users: number
  messages: number
  /** Of the database files. */
  bytes: number
  queues: number
  /** Transactions of the database in its life. */
  commits: number
  /** By which exports are signed, in hex. */
  exportKey: string
  /** Databases that were put back to an older copy. */
  older: string[]
}

export type FromChat =
  | { type: 'listening'; port: number }
  /** It cannot listen; trying again would not help. */
  | { type: 'refused'; reason: string }
  | { type: 'answer'; id: number; problem: Problem | null; value?: unknown }
  /** To be kept, and given back when that generation is opened: process/commit-counter.ts. */
  | { type: 'commits'; generation: string; sealed: Uint8Array }
  /** For the audit log. Answered with `recorded` when it changed something. */
  | { type: 'act'; id: number; act: ChatAuditEvent }

/** An error of ours. */
export interface Problem {
  code: ErrorCode
  message: string
}

/** Of one message: what a frame takes. */
export const COPY_BYTES_MAX = 256 * 1024

type Members = Record<string, unknown>

const membersOf = (value: unknown): Members | null =>
  typeof value === 'object' && value !== null ? (value as Members) : null

const TYPES_TO_CHAT: ReadonlySet<unknown> = new Set<ToChat['type']>([
  'start',
  'identity',
  'time',
  'auditGrowth',
  'close',
  'ask',
  'recorded',
])

/** The chat trusts the appliance: no more than the type is looked at. */
export function readToChat(value: unknown): ToChat | null {
  const type = membersOf(value)?.type
  return TYPES_TO_CHAT.has(type) ? (value as ToChat) : null
}

const CODES: ReadonlySet<unknown> = new Set<ErrorCode>([
  'invalid',
  'notFound',
  'conflict',
  'unavailable',
  'busy',
  'storage',
  'full',
  'internal',
])
const TEXT_CHARACTERS_MAX = 500

/** The chat meets the network, so what it says is read like any input; whoever asked looks at the value of an answer. */
export function readFromChat(value: unknown): FromChat | null {
  const members = membersOf(value)
  switch (members?.type) {
    case 'listening':
      return Number.isInteger(members.port) ? { type: 'listening', port: members.port as number } : null
    case 'refused':
      return typeof members.reason === 'string' ? { type: 'refused', reason: textOf(members.reason) } : null
    case 'answer': {
      const { id, problem, value } = members
      return Number.isInteger(id) ? { type: 'answer', id: id as number, problem: readProblem(problem), value } : null
    }
    case 'commits': {
      const { generation, sealed } = members
      const isRight =
        typeof generation === 'string' &&
        GENERATION.test(generation) &&
        sealed instanceof Uint8Array &&
        sealed.length <= SEALED_BYTES_MAX
      return isRight ? { type: 'commits', generation, sealed } : null
    }
    case 'act': {
      const act = readChatAuditEvent(members.act)
      return act !== null && Number.isInteger(members.id) ? { type: 'act', id: members.id as number, act } : null
    }
    default:
      return null
  }
}

/** The name of the directory of an organization. */
export const GENERATION = /^[0-9a-f]{16}$/
const SEALED_BYTES_MAX = 1024

function readProblem(value: unknown): Problem | null {
  if (value === null) return null
  const { code, message } = membersOf(value) ?? {}
  return {
    code: CODES.has(code) ? (code as ErrorCode) : 'internal',
    message: typeof message === 'string' ? textOf(message) : 'The chat gave no reason',
  }
}

const textOf = (text: string): string => text.slice(0, TEXT_CHARACTERS_MAX)

export const errorOf = ({ code, message }: Problem): CofferError => new CofferError(code, message)
