/** The interface of integrations: a webhook's payload becomes messages. It does not depend on the realm. Contract section 3.5.2. */

import type { z } from 'zod'
import { defined } from '../../base/defined.ts'

export interface WebhookOptions {
  /** Label of Alertmanager's alerts by which they are grouped. */
  readonly name: string
  /** Label or annotation that describes an alert. */
  readonly desc: string
  /** Branches whose pushes are reported; undefined for all. */
  readonly branches: string | undefined
}

interface WebhookInput {
  readonly payload: unknown
  /** Value of the integration's event header. */
  readonly event: string
  readonly options: WebhookOptions
}

export interface WebhookMessage {
  /** Undefined for the integration's default topic. */
  readonly topic?: string
  readonly text: string
}

export interface WebhookResult {
  /** Null for an integration without events. */
  readonly event: string | null
  /** Empty for an event that is not reported. */
  readonly messages: readonly WebhookMessage[]
}

interface UrlOption {
  readonly key: keyof WebhookOptions
  readonly label: string
  readonly validator: 'check_string'
}

export interface Integration {
  readonly name: string
  readonly displayName: string
  readonly eventHeader?: string
  /** Null for an integration without events. */
  readonly events: readonly string[] | null
  readonly urlOptions?: readonly UrlOption[]
  /** `silent`: strangers write the text, so its mentions notify no one. */
  readonly mentions: 'kept' | 'silent'
  /** Throws `AnomalousPayload` and `UnsupportedEvent`. */
  read(input: WebhookInput): WebhookResult
}

export class AnomalousPayload extends Error {}

export class UnsupportedEvent extends Error {
  /** One of the integration's `events`, for filters, or an unknown one. */
  readonly event: string
  /** The event with its action. */
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

export const isWantedBranch = (branch: string, { branches }: WebhookOptions): boolean =>
  branches === undefined || branches.trim() === '' || branches.split(',').some((wanted) => wanted.trim() === branch)

/** Reads the payload of one event. Returns null if it is not reported. Throws `AnomalousPayload` and `UnsupportedEvent`. */
export type EventReader = (payload: unknown, options: WebhookOptions) => WebhookMessage | null

/** For services that name the event in a header. */
export const readerOf =
  (readers: Readonly<Record<string, EventReader>>): Integration['read'] =>
  ({ payload, event, options }) => {
    if (!Object.hasOwn(readers, event)) throw new UnsupportedEvent(event)
    const message = defined(readers[event])(payload, options)
    return { event, messages: message === null ? [] : [message] }
  }
