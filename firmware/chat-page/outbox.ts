/**
 * Outgoing messages. Each is sent with one `Idempotency-Key` until the server has answered; within a conversation, one after the
 * other. If the session is remembered, unsent messages are also stored in the vault. `chat/CONTRACT.md`, section 3.2.1.
 */

import { type ReadonlySignal, signal } from '@preact/signals'
import { CallRefused, call } from './api.ts'
import { keep } from './kept.ts'
import { type ConversationRef, keyOf } from './model/conversation.ts'
import { backOffMs, wait } from './wait.ts'

export interface OutboxMessage {
  /** Its `Idempotency-Key`, and its `local_id` in events. */
  readonly key: string
  readonly conversation: ConversationRef
  readonly content: string
  /** Unix time in milliseconds. */
  readonly addedMs: number
  /** Message of a refusal, which the author must act on; null if there is none. */
  readonly refusal: string | null
  readonly failures: number
  /** Message id from the server, until the event arrives. */
  readonly id: number | null
}

interface OutboxOptions {
  ownId: number
  queueId: () => string | null
  /** Handles errors that may mean that the session has ended. */
  noteFailure: (error: unknown) => void
}

const KEY_BYTES = 24
const ANSWER_MS_MAX = 30_000 // then the request is repeated with the same key
const EVENT_MS_MAX = 10_000 // a message whose event went to a previous queue gets no further event
const RECORD = 'outbox '

const messages = signal<readonly OutboxMessage[]>([])
export const outbox: ReadonlySignal<readonly OutboxMessage[]> = messages

const busy = new Set<string>()
let running: { options: OutboxOptions; controller: AbortController } | null = null

/** Continues with the messages that an earlier page has stored. */
export function startOutbox(options: OutboxOptions, kept: readonly (readonly [string, unknown])[]): void {
  running?.controller.abort()
  running = { options, controller: new AbortController() }
  const known = new Set(messages.value.map(({ key }) => key))
  const left = kept.filter(([name]) => name.startsWith(RECORD)).map(([, value]) => value as OutboxMessage)
  const all = [...messages.value.filter(({ id }) => id === null), ...left.filter(({ key }) => !known.has(key))]
  messages.value = all.sort((a, b) => a.addedMs - b.addedMs)
  for (const { conversation } of all) void work(keyOf(conversation))
}

export function forgetOutbox(): void {
  running?.controller.abort()
  running = null
  messages.value = []
}

export async function send(conversation: ConversationRef, content: string): Promise<void> {
  const key = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(KEY_BYTES))))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
  const addedMs = Math.max(Date.now(), (messages.value.at(-1)?.addedMs ?? 0) + 1)
  const message: OutboxMessage = { key, conversation, content, addedMs, refusal: null, failures: 0, id: null }
  messages.value = [...messages.value, message]
  await keep(RECORD + key, message)
  await work(keyOf(conversation))
}

/** Sends a refused message again. A refusal does not use up its key. */
export function sendAgain(key: string): void {
  const message = messages.value.find((one) => one.key === key)
  if (message === undefined) return
  change(key, { refusal: null, failures: 0 })
  void keep(RECORD + key, { ...message, refusal: null, failures: 0 })
  void work(keyOf(message.conversation))
}

export function discard(key: string): void {
  messages.value = messages.value.filter((one) => one.key !== key)
  void keep(RECORD + key, undefined)
}

/** Removes a message from the outbox when its event has arrived. */
export function settle(id: number, localId: unknown): void {
  const arrived = messages.value.filter((one) => one.id === id || one.key === localId)
  for (const { key } of arrived) discard(key)
}

/** Recipient parameters of POST /messages and POST /scheduled_messages. */
export const sendTo = (conversation: ConversationRef, ownId: number): Record<string, unknown> =>
  conversation.kind === 'topic'
    ? { type: 'stream', to: conversation.channelId, topic: conversation.topic }
    : { type: 'direct', to: conversation.userIds.length === 0 ? [ownId] : conversation.userIds }

const change = (key: string, members: Partial<OutboxMessage>): void => {
  messages.value = messages.value.map((one) => (one.key === key ? { ...one, ...members } : one))
}

async function work(conversationKey: string): Promise<void> {
  const here = running
  if (here === null || busy.has(conversationKey)) return
  busy.add(conversationKey)
  try {
    for (;;) {
      const next = messages.value.find(
        ({ conversation, refusal, id }) => keyOf(conversation) === conversationKey && refusal === null && id === null,
      )
      if (next === undefined || here.controller.signal.aborted) return
      await attempt(next, here.options, here.controller.signal)
    }
  } finally {
    busy.delete(conversationKey)
    // A new connection has started since.
    if (running !== null && running !== here) void work(conversationKey)
  }
}

async function attempt(message: OutboxMessage, options: OutboxOptions, signal: AbortSignal): Promise<void> {
  const { key } = message
  try {
    const id = await post(message, options, signal)
    change(key, { id })
    void keep(RECORD + key, undefined)
    setTimeout(() => discard(key), EVENT_MS_MAX)
  } catch (error) {
    if (signal.aborted) return
    if (error instanceof CallRefused && error.status === 401) return options.noteFailure(error)
    if (error instanceof CallRefused && error.status < 500 && error.status !== 429) {
      change(key, { refusal: error.message })
      return keep(RECORD + key, { ...message, refusal: error.message })
    }
    const failures = message.failures + 1
    change(key, { failures })
    const isLimited = error instanceof CallRefused && error.status === 429
    await wait(isLimited ? error.retryAfterS * 1000 : backOffMs(failures), signal)
  }
}

async function post(
  { key, conversation, content }: OutboxMessage,
  { ownId, queueId }: OutboxOptions,
  signal: AbortSignal,
): Promise<number> {
  const queue = queueId()
  const { id } = await call<{ id: number }>(
    'POST',
    '/messages',
    { ...sendTo(conversation, ownId), content, ...(queue !== null && { queue_id: queue, local_id: key }) },
    { signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS_MAX)]), headers: { 'idempotency-key': key } },
  )
  return id
}
