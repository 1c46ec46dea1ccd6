/**
 * Messages on their way. Each is repeated under one `Idempotency-Key` until the server has answered, one after the other in each
 * conversation, and is kept sealed meanwhile where the session is remembered. `chat/CONTRACT.md`, section 3.2.1.
 */

import { type ReadonlySignal, signal } from '@preact/signals'
import { CallRefused, call } from './api.ts'
import { keep } from './kept.ts'
import { type ConversationRef, keyOf } from './model/conversation.ts'
import { backOffMs, wait } from './wait.ts'

export interface OutboxMessage {
  /** Its `Idempotency-Key`, and its local id in events. */
  readonly key: string
  readonly conversation: ConversationRef
  readonly content: string
  /** Milliseconds since the epoch. */
  readonly addedMs: number
  /** The server refused it, in these words: it waits for its author. */
  readonly refusal: string | null
  /** How often the server has not answered. */
  readonly failures: number
  /** The server's number for it, until its event comes. */
  readonly id: number | null
}

interface OutboxOptions {
  ownId: number
  queueId: () => string | null
  /** The session has ended. */
  noteFailure: (error: unknown) => void
}

const KEY_BYTES = 24
const ANSWER_MS_MAX = 30_000 // then the connection counts as lost: the same key goes out again
const EVENT_MS_MAX = 10_000 // a message that a queue of before has brought has no event any more
const RECORD = 'outbox '

const messages = signal<readonly OutboxMessage[]>([])
export const outbox: ReadonlySignal<readonly OutboxMessage[]> = messages

const busy = new Set<string>()
let running: { options: OutboxOptions; controller: AbortController } | null = null

/** Goes on with what an earlier page has left. */
export function startOutbox(options: OutboxOptions, kept: readonly (readonly [string, unknown])[]): void {
  running?.controller.abort()
  running = { options, controller: new AbortController() }
  const known = new Set(messages.value.map(({ key }) => key))
  const left = kept.filter(([name]) => name.startsWith(RECORD)).map(([, value]) => value as OutboxMessage)
  const all = [...messages.value.filter(({ id }) => id === null), ...left.filter(({ key }) => !known.has(key))]
  messages.value = all.sort((a, b) => a.addedMs - b.addedMs)
  for (const { conversation } of all) void work(keyOf(conversation))
}

/** Nothing of it stays. */
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

/** A refused message once more: a refusal does not use its key up. */
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

/** An event has brought the message. */
export function settle(id: number, localId: unknown): void {
  const arrived = messages.value.filter((one) => one.id === id || one.key === localId)
  for (const { key } of arrived) discard(key)
}

/** For POST /messages and POST /scheduled_messages. */
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
    // Another connection has begun meanwhile.
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
