/**
 * Messages between the firmware and the process for outgoing connections, as frames (firmware/channel/) on a pipe through the boot
 * manager. The firmware sends numbered jobs, and the process answers each once.
 */

import { printable } from '../base/printable.ts'

/** The first message to a new process is `settings`; it also follows each change. */
export type ToOutgoing =
  | { type: 'settings'; settings: ConnectionSettings }
  | { type: 'job'; id: number; job: OutgoingJob }
  /** The answer is no longer of interest. */
  | { type: 'cancel'; id: number }

export interface ConnectionSettings {
  /** On a host the system resolves names without `resolvers`, and the proxy may be on the same computer. */
  onHost: boolean
  /** `address` or `address:port`. */
  resolvers: readonly string[]
  proxy: HttpProxy | null
  /** Destinations that are reached without the proxy: a host, `.suffix`, or a CIDR. */
  proxyExcept: readonly string[]
  /** PEM certificates that are trusted besides the public ones. */
  authorities: Uint8Array
  publicAuthorities: boolean
}

export interface HttpProxy {
  host: string
  port: number
  user?: string
  password?: Uint8Array
}

export type OutgoingJob = HttpJob | ProbeJob | SyslogJob | MailJob

export interface HttpJob {
  do: 'http'
  method: 'GET' | 'HEAD' | 'POST' | 'PUT'
  url: string
  headers: Readonly<Record<string, string>>
  body: Uint8Array
  /** Lower-case names of the headers that the answer contains. */
  answerHeaders: readonly string[]
  timeoutMs: number
  /**
   * Over a connection that may stay open for the next such request to the origin. The request must be one that may arrive twice: it is
   * repeated if the server closes the connection before an answer, or is silent.
   */
  keepAlive?: true
}

export interface HttpAnswer {
  status: number
  headers: Readonly<Record<string, string>>
  body: Uint8Array
}

/** Connects to a server, sends it nothing, and reports its certificate. */
export interface ProbeJob {
  do: 'probe'
  host: string
  port: number
  tls: boolean
}

export interface ProbeAnswer {
  addresses: readonly string[]
  /** Absent without TLS, and after a failure before it. */
  tls?: { version: string; names: readonly string[]; notAfter: string }
  /** Reason of a failure. */
  problem?: string
}

/** Sends frames (RFC 5425 section 4.3) on a connection of their own, and ends it. */
export interface SyslogJob {
  do: 'syslog'
  host: string
  port: number
  /** In the form of RFC 5425 section 4.2.2. With some, the server's certificate needs one of them, and no authority or name. */
  fingerprints: readonly string[]
  /** Shown to a server that asks for a certificate. */
  identity: ClientIdentity | null
  frames: Uint8Array
  timeoutMs: number
}

/** Both in PEM. */
export interface ClientIdentity {
  key: Uint8Array
  certificates: Uint8Array
}

/** The server has ended the connection in answer to our end, without an error. */
export interface SyslogAnswer {
  /** False if it ended TCP without ending TLS, which anybody on the path can do. */
  isAuthenticated: boolean
}

/** Hands a mail to a server: RFC 5321. */
export interface MailJob {
  do: 'mail'
  host: string
  port: number
  /** `starttls`: RFC 3207; `none` is for loopback. */
  security: 'tls' | 'starttls' | 'none'
  /** Credentials for RFC 4954, sent over TLS or to loopback only. */
  login: { user: string; password: Uint8Array } | null
  from: string
  to: readonly string[]
  /** A message by RFC 5322 with CRLF at the end of each line. */
  message: Uint8Array
}

export interface MailAnswer {
  /** Recipients that the server takes the mail for; one at least. */
  accepted: number
  /** Why it refused the others. */
  refusal?: string
}

export type OutgoingAnswer = HttpAnswer | ProbeAnswer | SyslogAnswer | MailAnswer

export type FromOutgoing =
  | { type: 'answer'; id: number; answer: OutgoingAnswer }
  | { type: 'failure'; id: number; problem: string; isFinal: boolean }

export const REQUEST_BYTES_MAX = 1024 * 1024 // a frame has room for one such body
export const ANSWER_BYTES_MAX = 256 * 1024 // a chat message of 10,000 code points, each escaped twice
/** Bound on all answer headers that a job names. */
export const HEADER_CHARACTERS_MAX = 8192
export const MAIL_BYTES_MAX = 256 * 1024
/** Names in a certificate that an answer lists. */
export const NAMES_MAX = 100
export const NAME_CHARACTERS_MAX = 256
const PROBLEM_CHARACTERS_MAX = 200

type Members = Record<string, unknown>

const membersOf = (value: unknown): Members | null =>
  typeof value === 'object' && value !== null ? (value as Members) : null

const TYPES: ReadonlySet<unknown> = new Set<ToOutgoing['type']>(['settings', 'job', 'cancel'])

/** Checks the type only, because the process trusts the firmware. */
export function readToOutgoing(value: unknown): ToOutgoing | null {
  return TYPES.has(membersOf(value)?.type) ? (value as ToOutgoing) : null
}

/** Validates a message, because the process is exposed to the network. A malformed answer becomes a failure. */
export function readFromOutgoing(value: unknown): FromOutgoing | null {
  const { type, id, answer, problem, isFinal } = membersOf(value) ?? {}
  if (!Number.isSafeInteger(id)) return null
  const job = id as number
  if (type === 'failure' && typeof problem === 'string')
    return { type, id: job, problem: textOf(problem), isFinal: isFinal === true }
  const read =
    type === 'answer'
      ? (readHttpAnswer(answer) ?? readProbeAnswer(answer) ?? readSyslogAnswer(answer) ?? readMailAnswer(answer))
      : null
  if (read !== null) return { type: 'answer', id: job, answer: read }
  return {
    type: 'failure',
    id: job,
    problem: 'the process for outgoing connections gave a malformed answer',
    isFinal: false,
  }
}

function readHttpAnswer(value: unknown): HttpAnswer | null {
  const { status, headers, body } = membersOf(value) ?? {}
  if (!Number.isInteger(status) || (status as number) < 100 || (status as number) > 999) return null
  if (!(body instanceof Uint8Array) || body.length > ANSWER_BYTES_MAX) return null
  const entries = Object.entries(membersOf(headers) ?? {})
  if (!areTexts(entries)) return null // an object may throw where it is turned into a string
  const characters = entries.reduce((sum, [name, text]) => sum + name.length + text.length, 0)
  if (characters > HEADER_CHARACTERS_MAX) return null
  return { status: status as number, headers: Object.fromEntries(entries), body }
}

const areTexts = (entries: [name: string, value: unknown][]): entries is [name: string, value: string][] =>
  entries.every(([, value]) => typeof value === 'string')

function readProbeAnswer(value: unknown): ProbeAnswer | null {
  const { addresses, tls, problem } = membersOf(value) ?? {}
  if (!areNames(addresses)) return null
  const { version, names, notAfter } = membersOf(tls) ?? {}
  const isTls = typeof version === 'string' && areNames(names) && typeof notAfter === 'string'
  return {
    addresses: addresses.map(textOf),
    ...(isTls && { tls: { version: textOf(version), names: names.map(textOf), notAfter: textOf(notAfter) } }),
    ...(typeof problem === 'string' && { problem: textOf(problem) }),
  }
}

function readSyslogAnswer(value: unknown): SyslogAnswer | null {
  const { isAuthenticated } = membersOf(value) ?? {}
  return typeof isAuthenticated === 'boolean' ? { isAuthenticated } : null
}

function readMailAnswer(value: unknown): MailAnswer | null {
  const { accepted, refusal } = membersOf(value) ?? {}
  if (!Number.isSafeInteger(accepted)) return null
  return { accepted: accepted as number, ...(typeof refusal === 'string' && { refusal: textOf(refusal) }) }
}

const areNames = (value: unknown): value is string[] =>
  Array.isArray(value) &&
  value.length <= NAMES_MAX &&
  value.every((one) => typeof one === 'string' && one.length <= NAME_CHARACTERS_MAX)

const textOf = (text: string): string => printable(text.slice(0, PROBLEM_CHARACTERS_MAX))
