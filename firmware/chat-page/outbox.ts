/**
 * Outgoing messages. Each is sent with one `Idempotency-Key` until the server has answered; within a conversation, one after the
 * other. All tabs of the browser show them, and the one that leads sends them. If the session is remembered, unsent messages are also
 * stored in the vault. `chat/CONTRACT.md`, section 3.2.1.
 */

import { type ReadonlySignal, signal } from '@preact/signals'
import { CallRefused, call, limitMsOf } from './api.ts'
import { keep } from './kept.ts'
import { type ConversationRef, keyOf } from './model/conversation.ts'
import { waitAfter } from './wait.ts'

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

/** `message` is null once it is sent or discarded. */
export interface OutboxChange {
  /** Author. A tab that another account has signed in from must not take the message. */
  readonly ownId: number
  readonly key: string
  readonly message: OutboxMessage | null
}

interface OutboxOptions {
  ownId: number
  queueId: () => string | null
  /** True if this tab sends the messages of all tabs. */
  isLeading: () => boolean
  share: (change: OutboxChange) => void
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
  messages.value = all.sort(inOrder)
  resumeOutbox()
}

/** Sends all waiting messages. Called also when this tab begins to lead. */
export function resumeOutbox(): void {
  for (const { conversation } of messages.value) void work(keyOf(conversation))
}

export function forgetOutbox(): void {
  running?.controller.abort()
  running = null
  messages.value = []
}

/** Does nothing while no account is signed in: the next one may be another. */
export async function send(conversation: ConversationRef, content: string): Promise<void> {
  const key = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(KEY_BYTES))))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
  const addedMs = Math.max(Date.now(), (messages.value.at(-1)?.addedMs ?? 0) + 1)
  await store({ key, conversation, content, addedMs, refusal: null, failures: 0, id: null })
}

/** Sends a refused message again. A refusal does not use up its key. */
export function sendAgain(key: string): void {
  const message = messages.value.find((one) => one.key === key)
  if (message !== undefined) void store({ ...message, refusal: null, failures: 0 })
}

export function discard(key: string): void {
  forget(key)
  share(key, null)
}

/** Removes a message from the outbox when its event has arrived. */
export function settle(id: number, localId: unknown): void {
  for (const { key } of messages.value.filter((one) => one.id === id || one.key === localId)) forget(key)
}

/** Takes over a change by another tab. */
export function takeOutboxChange({ ownId, key, message }: OutboxChange): void {
  if (running?.options.ownId !== ownId) return
  put(key, message)
  if (message !== null) void work(keyOf(message.conversation))
}

/** On disk before it is sent: the tab that sends it deletes the record. */
async function store(message: OutboxMessage): Promise<void> {
  if (running === null) return
  const { ownId } = running.options
  put(message.key, message)
  await keep(RECORD + message.key, message)
  if (running?.options.ownId !== ownId) return // signed out meanwhile
  share(message.key, message)
  await work(keyOf(message.conversation))
}

function share(key: string, message: OutboxMessage | null): void {
  running?.options.share({ ownId: running.options.ownId, key, message })
}

function forget(key: string): void {
  put(key, null)
  void keep(RECORD + key, undefined)
}

const inOrder = (a: OutboxMessage, b: OutboxMessage): number => a.addedMs - b.addedMs

function put(key: string, message: OutboxMessage | null): void {
  const others = messages.value.filter((one) => one.key !== key)
  messages.value = message === null ? others : [...others, message].sort(inOrder)
}

/** Recipient parameters of POST /messages and POST /scheduled_messages. */
export const sendTo = (conversation: ConversationRef, ownId: number): Record<string, unknown> =>
  conversation.kind === 'topic'
    ? { type: 'stream', to: conversation.channelId, topic: conversation.topic }
    : { type: 'direct', to: conversation.userIds.length === 0 ? [ownId] : conversation.userIds }

function change(key: string, members: Partial<OutboxMessage>): void {
  const before = messages.value.find((one) => one.key === key)
  if (before === undefined) return
  const message = { ...before, ...members }
  put(key, message)
  share(key, message)
}

async function work(conversationKey: string): Promise<void> {
  const here = running
  if (!here?.options.isLeading() || busy.has(conversationKey)) return
  busy.add(conversationKey)
  try {
    for (;;) {
      const next = messages.value.find(
        ({ conversation, refusal, id }) => keyOf(conversation) === conversationKey && refusal === null && id === null,
      )
      if (next === undefined || here.controller.signal.aborted || !here.options.isLeading()) return
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
    if (error instanceof CallRefused && error.status < 500 && limitMsOf(error) === null) {
      change(key, { refusal: error.message })
      return keep(RECORD + key, { ...message, refusal: error.message })
    }
    const failures = message.failures + 1
    change(key, { failures })
    await waitAfter(error, failures, signal)
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
