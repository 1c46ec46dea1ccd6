/**
 * Messages between the appliance and the chat process, as frames (firmware/channel/) on a pipe through the boot manager. The appliance
 * sends numbered requests, and the chat answers them. The chat key and passwords travel as bytes, and on this pipe only.
 */

import { CofferError, type ErrorCode } from '../../base/error.ts'
import type { LogLevel } from '../../base/log.ts'
import { type ChatAuditEvent, readChatAuditEvent } from './chat-audit-event.ts'
import type { WebPushSettings } from './web-push.ts'

/** The first message to a new process is `start`. */
export type ToChat =
  | { type: 'start'; start: Start }
  /** TLS identity for new connections. `cert` is PEM. */
  | { type: 'identity'; key: Uint8Array; cert: Uint8Array }
  | { type: 'time'; offsetMs: number }
  /** Remaining growth of the audit log beyond the reserve: see `Start`. */
  | { type: 'auditGrowth'; bytes: number }
  /** Null, also before the first such message: off. */
  | { type: 'webPush'; settings: WebPushSettings | null }
  /** Revokes the key: polls end, queues are saved, and all requests are refused from now on. */
  | { type: 'close' }
  | { type: 'ask'; id: number; ask: Ask }
  /** Answers an `act` that changed something. `isKept` is false if the disk could not store it. */
  | { type: 'recorded'; id: number; isKept: boolean }
  /** Answers a `request`. */
  | { type: 'response'; id: number; response: OutgoingResponse }

export interface Start {
  /** Contains one directory for each generation of the organization. */
  directory: string
  host: string
  /** 0 lets the system choose. */
  port: number
  key: Uint8Array
  cert: Uint8Array
  offsetMs: number
  logLevel: LogLevel
  /** Disk space reserved for the audit log, which users of the chat must not take. */
  auditGrowthBytes: number
}

export type Ask =
  /** Opens a generation and removes all others. `kept` is the last `commits` of that generation. Answered when the organization is open. */
  | { do: 'open'; generation: string; chatKey: Uint8Array; kept: Uint8Array | null }
  | { do: 'create'; generation: string; chatKey: Uint8Array; organization: NewOrganization; password: Uint8Array }
  | { do: 'erase' }
  /** Shows these certificates in handshakes of certificate authorities, and no others. Answered when new handshakes get them. */
  | { do: 'challenges'; challenges: TlsChallenge[] }
  /** Answered with `Statistics`. */
  | { do: 'figures' }
  /** Answered with `OperatorSettings`. */
  | { do: 'settings' }
  | { do: 'changeSettings'; changes: OperatorChanges }
  | { do: 'recoverOwner'; email: string; password: Uint8Array }
  /** Freezes the database files until `endCopy`; writes continue in the log. Answered with `CopiedFile[]`. */
  | { do: 'beginCopy' }
  /** Answered with the bytes. */
  | { do: 'readCopy'; name: string; offset: number; bytes: number }
  | { do: 'endCopy' }
  /** Starts to receive a generation next to the current one, for a later `open`. Removes what was received before. */
  | { do: 'receive'; generation: string }
  | { do: 'write'; name: string; bytes: Uint8Array }
  /** Answered when all files are durable. */
  | { do: 'received' }

/** `cert` is PEM. */
export interface TlsChallenge {
  serverName: string
  key: Uint8Array
  cert: Uint8Array
}

export interface NewOrganization {
  name: string
  url: string
  owner: { email: string; fullName: string }
}

export interface OperatorSettings {
  url: string
  ownerFullContentAccess: boolean
  /** Bound on all uploads; null for a share of the disk, see realm/model/disk-room.ts. */
  uploadQuotaMib: number | null
  /**
   * Hosts that outgoing webhooks may reach: `host` at the default port of its scheme, or `host:port`. The appliance keeps them; the chat
   * only has those of organizations that were made before it did.
   */
  outgoingHosts: readonly string[]
  externalPreviews: boolean
  /** Algorithm of an external authentication service; null without one. */
  jwt: { algorithm: JwtAlgorithm } | null
}

export const JWT_ALGORITHMS = ['HS256', 'RS256', 'ES256'] as const
export type JwtAlgorithm = (typeof JWT_ALGORITHMS)[number]

export interface OperatorChanges extends Partial<Omit<OperatorSettings, 'jwt' | 'outgoingHosts'>> {
  /** `key`: a shared secret, or a public key in PEM. */
  jwt?: { algorithm: JwtAlgorithm; key: Uint8Array } | null
}

export interface Statistics {
  name: string
  url: string
  users: number
  messages: number
  /** Size of the database files. */
  bytes: number
  queues: number
  /** Number of transactions in the lifetime of the database. */
  commits: number
  /** Public key for the signatures of exports, hexadecimal. */
  exportKey: string
  /** Databases that were replaced by an older copy. */
  older: string[]
}

export type FromChat =
  | { type: 'listening'; port: number }
  /** The process cannot listen, and another attempt would not help. */
  | { type: 'refused'; reason: string }
  | { type: 'answer'; id: number; problem: Problem | null; value?: unknown }
  /** The appliance stores these counts and passes them to `open` of that generation: process/commit-counter.ts. */
  | { type: 'commits'; generation: string; sealed: Uint8Array }
  /** For the audit log. Answered with `recorded` if it changed something. */
  | { type: 'act'; id: number; act: ChatAuditEvent }
  /** A POST to a host that the operator has listed. Answered with `response`. */
  | { type: 'request'; id: number; request: OutgoingRequest }
  /** Nobody waits for that response any more. */
  | { type: 'cancelRequest'; id: number }

export interface OutgoingRequest {
  url: string
  contentType: string
  body: Uint8Array
  /** Present for a push service, which must be one of the operator's `webPush`. */
  push?: PushHeaders
}

/** Headers of RFC 8292 and RFC 8030 that differ between requests. */
export interface PushHeaders {
  authorization: string
  topic: string
}

/** Bytes of the body of a request: a frame has room for one, and the appliance sends no longer ones. */
export const OUTGOING_BYTES_MAX = 1024 * 1024

/** `problem` is a predicate about the other server. With `isFinal` another attempt now would fail the same way. */
export type OutgoingResponse =
  /** `retryAfterS` of a push service that has told it. */
  { status: number; body: Uint8Array; retryAfterS?: number } | { problem: string; isFinal: boolean }

export interface Problem {
  code: ErrorCode
  message: string
}

/** Bytes per message, limited by the size of a frame. */
export const COPY_BYTES_MAX = 256 * 1024

type Members = Record<string, unknown>

const membersOf = (value: unknown): Members | null =>
  typeof value === 'object' && value !== null ? (value as Members) : null

const TYPES_TO_CHAT: ReadonlySet<unknown> = new Set<ToChat['type']>([
  'start',
  'identity',
  'time',
  'auditGrowth',
  'webPush',
  'close',
  'ask',
  'recorded',
  'response',
])

/** Checks the type only, because the chat trusts the appliance. */
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

/** Validates a message, because the chat process is exposed to the network. The caller validates the value of an answer. */
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
    case 'cancelRequest':
      return Number.isInteger(members.id) ? { type: 'cancelRequest', id: members.id as number } : null
    case 'request': {
      const request = readRequest(members.request)
      return request !== null && Number.isInteger(members.id)
        ? { type: 'request', id: members.id as number, request }
        : null
    }
    default:
      return null
  }
}

const URL_CHARACTERS_MAX = 8192
const CONTENT_TYPE = /^[a-z]{1,20}\/[a-z-]{1,40}$/
const VAPID = /^vapid t=[\w.-]{1,1500}, k=[\w-]{87}$/
const PUSH_TOPIC = /^[\w-]{1,32}$/ // RFC 8030 section 5.4

function readRequest(value: unknown): OutgoingRequest | null {
  const { url, contentType, body, push } = membersOf(value) ?? {}
  if (typeof url !== 'string' || url.length > URL_CHARACTERS_MAX || !(body instanceof Uint8Array)) return null
  if (typeof contentType !== 'string' || !CONTENT_TYPE.test(contentType)) return null
  if (push === undefined) return { url, contentType, body }
  const { authorization, topic } = membersOf(push) ?? {}
  const isRight = typeof authorization === 'string' && VAPID.test(authorization)
  if (!isRight || typeof topic !== 'string' || !PUSH_TOPIC.test(topic)) return null
  return { url, contentType, body, push: { authorization, topic } }
}

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
