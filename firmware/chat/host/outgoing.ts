/**
 * Outgoing requests of the chat. The appliance keeps the list of hosts, so that a chat process that an attacker controls reaches no
 * other. Contract section 3.8 of the appliance.
 */

import * as z from 'zod'
import { type DeviceRecords, readText, writeText } from '../../configuration/device-records.ts'
import type { OutgoingClient } from '../../outgoing/client.ts'
import { OutgoingError } from '../../outgoing/error.ts'
import { CHAT_HOSTS, CHAT_WEB_PUSH } from '../../store/device-area.ts'
import type { FromChat, OutgoingRequest, OutgoingResponse, PushHeaders } from '../link/link.ts'
import { pushHostOf, type WebPushSettings } from '../link/web-push.ts'
import type { ChatConnection } from './chat-connection.ts'

const TIMEOUT_MS = 10_000 // contract section 9 of the chat

const PUSH_TTL_S = 86_400 // how long a push service keeps a notification for a device that it cannot reach
const RETRY_AFTER = /^\d{1,9}$/ // seconds; a date is ignored

const hostsSchema = z.array(z.string())
const webPushSchema = z.object({ hosts: hostsSchema, contact: z.string(), content: z.boolean() })

interface ChatOutgoing {
  /** Null for an organization that was made before the appliance kept the list, until `setHosts`. */
  readonly hosts: readonly string[] | null
  /** Throws `unavailable` unless Operational. */
  setHosts(hosts: readonly string[]): void
  readonly webPush: WebPushSettings | null
  /** Throws `unavailable` unless Operational. */
  setWebPush(settings: WebPushSettings | null): void
  perform: RequestHandler
}

export type RequestHandler = (request: OutgoingRequest, signal: AbortSignal) => Promise<OutgoingResponse>

/** Without `client` no host is reached. */
export function createChatOutgoing(records: DeviceRecords, client: OutgoingClient | undefined): ChatOutgoing {
  const readHosts = (): readonly string[] | null => {
    const text = readText(records, CHAT_HOSTS)
    return text == null ? null : (hostsSchema.safeParse(JSON.parse(text)).data ?? null)
  }

  const readWebPush = (): WebPushSettings | null => {
    const text = readText(records, CHAT_WEB_PUSH)
    return text == null ? null : (webPushSchema.nullable().safeParse(JSON.parse(text)).data ?? null)
  }

  async function send(request: OutgoingRequest, signal: AbortSignal): Promise<OutgoingResponse> {
    if (client === undefined) throw new OutgoingError('the boot manager is too old for connections to others', true)
    const { url, contentType, body, push } = request
    const common = { method: 'POST', url, body, timeoutMs: TIMEOUT_MS } as const
    if (push === undefined) {
      const headers = { 'content-type': contentType, accept: 'application/json' }
      const job = { ...common, headers, answerHeaders: [] }
      const { status, body: answer } = await client.http(job, { origin: 'chat', hosts: readHosts() ?? [], signal })
      return { status, body: answer }
    }
    const host = pushHostOf(url, readWebPush()?.hosts ?? [])
    // It may arrive twice: the second one replaces the first, by its topic until that is delivered, then by the tag that the page gives it.
    const reuse = { answerHeaders: ['retry-after'], keepAlive: true } as const
    const job = { ...common, headers: pushHeaders(contentType, push), ...reuse }
    const { status, headers } = await client.http(job, { origin: 'chat', hosts: host === null ? [] : [host], signal })
    const after = headers['retry-after'] ?? ''
    return { status, body: new Uint8Array(0), ...(RETRY_AFTER.test(after) && { retryAfterS: Number(after) }) }
  }

  return {
    get hosts() {
      return readHosts()
    },
    setHosts: (hosts) => writeText(records, CHAT_HOSTS, JSON.stringify(hosts)),
    get webPush() {
      return readWebPush()
    },
    setWebPush: (settings) => writeText(records, CHAT_WEB_PUSH, JSON.stringify(settings)),
    async perform(request, signal) {
      try {
        return await send(request, signal)
      } catch (error) {
        if (!(error instanceof OutgoingError)) throw error
        return { problem: error.message, isFinal: error.isFinal }
      }
    },
  }
}

/** RFC 8030 section 5, RFC 8188 section 2, RFC 8292 section 3. One urgency, so that it tells nothing about the message. */
const pushHeaders = (contentType: string, { authorization, topic }: PushHeaders) => ({
  ...{ 'content-type': contentType, 'content-encoding': 'aes128gcm', authorization, topic },
  ...{ ttl: `${PUSH_TTL_S}`, urgency: 'high' },
})

interface PendingRequests {
  begin(asker: ChatConnection, message: Extract<FromChat, { type: 'request' }>): Promise<void>
  cancel(id: number): void
  cancelAll(): void
}

/**
 * The chat calls 16 bots at once, sends 8 notifications, and tests 4 subscriptions. A process with more requests is one that an attacker
 * controls, and the others are passed over.
 */
const REQUESTS_MAX = 64

/** Pending requests of one chat process, with those whose response it has not read. */
export function createRequests(handle: RequestHandler): PendingRequests {
  const pending = new Map<number, AbortController>()
  let count = 0
  return {
    async begin(asker, { id, request }) {
      if (count >= REQUESTS_MAX || pending.has(id)) return
      const canceled = new AbortController()
      pending.set(id, canceled)
      count++
      const response = await handle(request, canceled.signal)
      pending.delete(id)
      if (!canceled.signal.aborted) await asker.respond(id, response)
      count--
    },
    cancel: (id) => pending.get(id)?.abort(),
    cancelAll: () => {
      for (const canceled of pending.values()) canceled.abort()
    },
  }
}
