/** Requests to an ACME server: its directory, nonces, the account, and errors as problem documents. RFC 8555 sections 6 and 7.1 to 7.3. */

import * as z from 'zod'
import { defined } from '../base/defined.ts'
import { printable } from '../base/printable.ts'
import { PRODUCT } from '../channel/product.ts'
import { withoutDot } from '../outgoing/hosts.ts'
import type { HttpAnswer, HttpJob } from '../outgoing/link.ts'
import { type AccountKey, type ExternalAccount, externalBinding } from './jws.ts'
import { DAY_MS } from './schedule.ts'

/** Sends one request. No host but these is asked. Throws `OutgoingError`. */
export type Send = (job: Omit<HttpJob, 'do'>, hosts: readonly string[], signal: AbortSignal) => Promise<HttpAnswer>

/** An ACME server refused a request or answered against the protocol. The message is a sentence for administrators. */
export class AcmeError extends Error {
  /** Last part of the problem's type, such as `rateLimited`. */
  readonly kind: string
  readonly retryAfterMs: number | undefined

  constructor(message: string, kind = 'malformed', retryAfterMs?: number) {
    super(message)
    this.name = 'AcmeError'
    this.kind = kind
    this.retryAfterMs = retryAfterMs
  }
}

export interface AcmeAnswer {
  /** Undefined if the answer is not JSON. */
  readonly body: unknown
  readonly text: string
  readonly location: string | undefined
  /** Undefined if the server does not say. */
  readonly retryAfterMs: number | undefined
}

export interface AcmeClient {
  directory(): Promise<Directory>
  /**
   * Makes the account of this key, or finds or updates it; further requests are signed for it. Returns its URL. Throws AcmeError, as all
   * of these do, or OutgoingError.
   */
  openAccount(options: AccountOptions): Promise<string>
  /** POST-as-GET without `payload`. */
  post(url: string, payload?: object): Promise<AcmeAnswer>
  /** Unsigned: for renewal information. */
  get(url: string): Promise<AcmeAnswer>
}

interface AccountOptions {
  /** URL and contacts of the account if there was one. */
  known: { url: string; contact: readonly string[] } | null
  contact: readonly string[]
  termsAgreed: boolean
  external: ExternalAccount | null
}

interface AcmeClientOptions {
  directoryUrl: string
  /** Signs requests; null for a client that only gets. */
  key: AccountKey | null
  send: Send
  /** Ends requests, and refuses further ones. */
  signal: AbortSignal
  /** The time, for dates in `retry-after`. */
  now: () => number
}

const ANSWER_HEADERS = ['replay-nonce', 'location', 'retry-after'] as const
const NONCE_TRIES = 20 // so many in a row are one in a million where half of all are refused
const TIMEOUT_MS = 30_000
const DETAIL_CHARACTERS_MAX = 300
const RETRY_AFTER_MS_MAX = DAY_MS
const URL_CHARACTERS_MAX = 2048

export const acmeUrl = z
  .string()
  .max(URL_CHARACTERS_MAX)
  .regex(/^https:\/\//)

const directorySchema = z.object({
  newNonce: acmeUrl,
  newAccount: acmeUrl,
  newOrder: acmeUrl,
  renewalInfo: acmeUrl.optional(),
  meta: z
    .object({
      termsOfService: z.string().optional(),
      externalAccountRequired: z.boolean().optional(),
      profiles: z.record(z.string(), z.string()).optional(),
    })
    .optional(),
})
export type Directory = z.infer<typeof directorySchema>

const problemSchema = z.object({ type: z.string().optional(), detail: z.string().optional() })

export function createAcmeClient({ directoryUrl, key: accountKey, send, signal, now }: AcmeClientOptions): AcmeClient {
  let known: { directory: Directory; hosts: string[] } | null = null
  let nonce: string | undefined
  let account: string | undefined

  async function ask(method: HttpJob['method'], url: string, hosts: readonly string[], body = ''): Promise<HttpAnswer> {
    if (!hosts.includes(hostOf(url))) throw new AcmeError(`The CA names a URL at another host: ${shorten(hostOf(url))}`)
    const headers = {
      'user-agent': `${PRODUCT.product}/${PRODUCT.version}`,
      ...(body !== '' && { 'content-type': 'application/jose+json' }),
    }
    const job = { method, url, headers, body: new TextEncoder().encode(body), answerHeaders: ANSWER_HEADERS }
    signal.throwIfAborted()
    const answer = await send({ ...job, timeoutMs: TIMEOUT_MS }, hosts, signal)
    nonce = answer.headers['replay-nonce'] ?? nonce
    return answer
  }

  async function learn(): Promise<{ directory: Directory; hosts: string[] }> {
    if (known !== null) return known
    const { body } = read(await ask('GET', directoryUrl, [hostOf(directoryUrl)]), now())
    const { data } = directorySchema.safeParse(body)
    if (data === undefined) throw new AcmeError('The directory of the CA is malformed')
    const urls = [directoryUrl, data.newNonce, data.newAccount, data.newOrder, data.renewalInfo ?? directoryUrl]
    known = { directory: data, hosts: [...new Set(urls.map(hostOf))] }
    return known
  }

  async function takeNonce(): Promise<string> {
    const { directory, hosts } = await learn()
    if (nonce === undefined) await ask('HEAD', directory.newNonce, hosts)
    const taken = nonce
    nonce = undefined
    if (taken === undefined) throw new AcmeError('The CA gives no nonce')
    return taken
  }

  async function post(url: string, payload?: object): Promise<AcmeAnswer> {
    const key = defined(accountKey)
    const { hosts } = await learn()
    const text = payload === undefined ? '' : JSON.stringify(payload)
    for (let tries = 1; ; tries++) {
      const signer = account === undefined ? { jwk: key.jwk } : { kid: account }
      const answer = await ask('POST', url, hosts, key.sign({ ...signer, nonce: await takeNonce(), url }, text))
      try {
        return read(answer, now())
      } catch (error) {
        if (!(error instanceof AcmeError) || error.kind !== 'badNonce' || tries === NONCE_TRIES) throw error
      }
    }
  }

  async function makeAccount({ contact, termsAgreed, external }: AccountOptions): Promise<string> {
    const { directory } = await learn()
    account = undefined
    const { location } = await post(directory.newAccount, {
      ...(directory.meta?.termsOfService !== undefined && { termsOfServiceAgreed: termsAgreed }),
      contact: mailAddresses(contact),
      ...(external !== null && {
        externalAccountBinding: externalBinding(external, defined(accountKey).jwk, directory.newAccount),
      }),
    })
    if (!acmeUrl.safeParse(location).success) throw new AcmeError('The CA gives no URL of the account')
    return location as string
  }

  async function updateAccount(url: string, contact: readonly string[]): Promise<boolean> {
    account = url
    try {
      await post(url, { contact: mailAddresses(contact) })
      return true
    } catch (error) {
      if (error instanceof AcmeError && error.kind === 'accountDoesNotExist') return false
      throw error
    }
  }

  return {
    directory: async () => (await learn()).directory,
    async openAccount(options) {
      const { termsOfService, externalAccountRequired } = (await learn()).directory.meta ?? {}
      if (termsOfService !== undefined && !options.termsAgreed)
        throw new AcmeError(`termsAgreed must be true: the CA has terms at ${shorten(termsOfService)}`)
      const { known: former, contact, external } = options
      if (former !== null) {
        account = former.url
        const isSame = JSON.stringify(former.contact) === JSON.stringify(contact)
        if (isSame || (await updateAccount(former.url, contact))) return former.url
      }
      if (externalAccountRequired === true && external === null)
        throw new AcmeError('eab must be set: the CA requires an external account')
      account = await makeAccount(options)
      return account
    },
    post,
    get: async (url) => read(await ask('GET', url, (await learn()).hosts), now()),
  }
}

const mailAddresses = (contact: readonly string[]): string[] => contact.map((address) => `mailto:${address}`)

const hostOf = (url: string): string => withoutDot(URL.parse(url)?.host ?? '')

/** Makes a text of the CA printable. */
export const shorten = (text: string): string => printable(text.slice(0, DETAIL_CHARACTERS_MAX))

function read({ status, headers, body }: HttpAnswer, nowMs: number): AcmeAnswer {
  const text = new TextDecoder().decode(body)
  const json = parse(text)
  const retryAfterMs = readRetryAfter(headers['retry-after'], nowMs)
  if (status >= 200 && status < 300) return { body: json, text, location: headers.location, retryAfterMs }
  const { type = '', detail = `status ${status}` } = problemSchema.safeParse(json).data ?? {}
  const kind = type.slice(type.lastIndexOf(':') + 1)
  throw new AcmeError(`The CA refuses: ${shorten(detail)}`, kind, retryAfterMs)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Seconds or a date: RFC 9110 section 10.2.3. */
function readRetryAfter(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), RETRY_AFTER_MS_MAX)
}
