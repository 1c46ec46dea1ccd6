/** A service that sends webhooks: from a payload to messages. It knows no realm. Contract section 3.5.2. */

import type { z } from 'zod'

/** Parameters of single integrations, beside those of all. */
export interface WebhookOptions {
  /** Label of Alertmanager's alerts by which they are grouped. */
  readonly name: string
  /** Label or annotation that says what an alert is. */
  readonly desc: string
  /** Names of branches whose pushes are sent; undefined: of all. */
  readonly branches: string | undefined
}

interface WebhookInput {
  readonly payload: unknown
  /** Value of the integration's event header. */
  readonly event: string
  readonly options: WebhookOptions
}

export interface WebhookMessage {
  /** Undefined: none. */
  readonly topic?: string
  readonly text: string
}

export interface WebhookResult {
  /** Null: the integration has no events. */
  readonly event: string | null
  /** None where the event is no news. */
  readonly messages: readonly WebhookMessage[]
}

/** As `register` lists it. */
interface UrlOption {
  readonly key: keyof WebhookOptions
  readonly label: string
  readonly validator: 'check_string'
}

export interface Integration {
  readonly name: string
  readonly displayName: string
  readonly eventHeader?: string
  /** Null: there are no events to choose from. */
  readonly events: readonly string[] | null
  readonly urlOptions?: readonly UrlOption[]
  /** `silent`: strangers write the text. */
  readonly mentions: 'kept' | 'silent'
  /** Throws `AnomalousPayload` and `UnsupportedEvent`. */
  read(input: WebhookInput): WebhookResult
}

/** The payload is not what the service sends. */
export class AnomalousPayload extends Error {}

export class UnsupportedEvent extends Error {
  /** One of the integration's `events`, for filters, or an unknown one. */
  readonly event: string
  /** With the action. */
  readonly type: string

  constructor(event: string, action?: string) {
    super('unsupported event')
    this.event = event
    this.type = action === undefined ? event : `${event}:${action}`
  }
}

/** Throws `AnomalousPayload`. */
export function parse<T>(schema: z.ZodType<T>, payload: unknown): T {
  const parsed = schema.safeParse(payload)
  if (!parsed.success) throw new AnomalousPayload()
  return parsed.data
}

export const BRANCHES: UrlOption = {
  key: 'branches',
  label: 'Branches whose pushes are sent, with commas between them',
  validator: 'check_string',
}

/** True if pushes to the branch are sent. */
export const isWantedBranch = (branch: string, { branches }: WebhookOptions): boolean =>
  branches === undefined || branches.trim() === '' || branches.split(',').some((wanted) => wanted.trim() === branch)

/** Reads the payload of one event. Null: no news. Throws `AnomalousPayload` and `UnsupportedEvent`. */
export type EventReader = (payload: unknown, options: WebhookOptions) => WebhookMessage | null

/** For services that name the event in a header. */
export const readerOf =
  (readers: Readonly<Record<string, EventReader>>): Integration['read'] =>
  ({ payload, event, options }) => {
    if (!Object.hasOwn(readers, event)) throw new UnsupportedEvent(event)
    const message = readers[event]!(payload, options)
    return { event, messages: message === null ? [] : [message] }
  }
