/**
 * Messages and state that this device keeps for starts without the server: the newest messages of the latest conversations, and of
 * those opened since. The tab that leads writes them into the vault, and applies all events to them.
 */

import { clearCache, keptUser, readCache, writeCache } from './kept.ts'
import { type ConversationRef, conversationOf, keyOf } from './model/conversation.ts'
import { createMessageList, fetchMessages, type MessageList, sourceOf } from './model/message-list.ts'
import { packView, unpackView } from './model/packed.ts'
import type { RealmView } from './model/realm.ts'
import type { QueueEvent, ReceivedMessage } from './model/types.ts'
import { wait, waitAfter } from './wait.ts'

const CONVERSATIONS_MAX = 40
const OPENED_MAX = 60 // beyond those
const MESSAGES_MAX = 50
const FETCHED_MESSAGES = 1000 // one answer
const CHARACTERS_MAX = 20_000_000
const FILL_AFTER_MS = 3000 // views come first
const WRITE_AFTER_MS = 1000
const VIEW_EVERY_MS = 10_000
const VIEW = 'view'

interface StoredView {
  view: string
  atMs: number
}

interface StoredMessages {
  messages: readonly ReceivedMessage[]
}

interface KeptList {
  readonly conversation: ConversationRef
  readonly list: MessageList
  /** As it was written last. */
  written: readonly ReceivedMessage[] | null
  characters: number
}

/** By key of the conversation. */
const lists = new Map<string, KeptList>()
/** Ids of channels that the account has left, or may not read any more. */
const lostChannels = new Set<number>()
/** Ids of messages that were deleted while the first ones were fetched. */
const deleted = new Set<number>()
let realm: RealmView | null = null
let filling: AbortController | null = null
let writing: ReturnType<typeof setTimeout> | undefined
let viewWrittenMs = 0

export async function readStoredView(): Promise<{ view: RealmView; atMs: number } | null> {
  if ((await keptUser()) === null) return null
  const stored = (await readCache(VIEW)) as StoredView | undefined
  return stored === undefined ? null : { view: unpackView(stored.view), atMs: stored.atMs }
}

export async function readStoredMessages(conversation: ConversationRef): Promise<readonly ReceivedMessage[] | null> {
  const stored = (await readCache(keyOf(conversation))) as StoredMessages | undefined
  return stored?.messages ?? null
}

/** Begins anew: texts that were deleted while this browser had no event queue must not stay. */
export function startStoring(view: RealmView): void {
  stopStoring()
  realm = view
  filling = new AbortController()
  void clearCache()
  void fill(view, filling.signal)
  planWrite()
}

export function stopStoring(): void {
  filling?.abort()
  filling = null
  clearTimeout(writing)
  writing = undefined
  viewWrittenMs = 0
  for (const { list } of lists.values()) realm?.lists.delete(list)
  lists.clear()
  lostChannels.clear()
  deleted.clear()
  realm = null
}

/** Called after events have changed the view. */
export function planWrite(): void {
  if (realm !== null) writeAfter(WRITE_AFTER_MS)
}

/** Stores the newest messages of an open conversation, too. */
export function storeOpened(conversation: ConversationRef, messages: readonly ReceivedMessage[]): void {
  if (realm === null) return
  add(realm, conversation, messages)
  planWrite()
}

/** Drops what this device may not keep any more, and conversations that messages were moved into, which have a gap. */
export function dropStale(event: QueueEvent): void {
  const { type, op } = event
  if (type === 'delete_message' && filling !== null) for (const id of event.message_ids) deleted.add(id)
  if (type === 'subscription' && op === 'add')
    for (const { stream_id: id } of event.subscriptions) lostChannels.delete(id)
  if (type === 'subscription' && op === 'remove') for (const { stream_id: id } of event.subscriptions) dropChannel(id)
  if (type === 'stream' && op === 'delete') for (const id of event.stream_ids ?? []) dropChannel(id)
  const { stream_id: channelId, new_stream_id: newId, subject, orig_subject: before } = event
  if (type !== 'update_message' || (newId === undefined && subject === undefined)) return
  drop(keyOf({ kind: 'topic', channelId: newId ?? channelId, topic: subject ?? before }))
}

function dropChannel(channelId: number): void {
  lostChannels.add(channelId)
  for (const [key, { conversation }] of [...lists])
    if (conversation.kind === 'topic' && conversation.channelId === channelId) drop(key)
}

function drop(key: string): void {
  const kept = lists.get(key)
  if (kept === undefined) return
  realm?.lists.delete(kept.list)
  lists.delete(key)
  void writeCache(key, undefined)
}

async function fill(view: RealmView, signal: AbortSignal): Promise<void> {
  await wait(FILL_AFTER_MS, signal)
  for (let failures = 1; !signal.aborted; failures++) {
    deleted.clear()
    try {
      const range = { anchor: 'newest', num_before: FETCHED_MESSAGES, num_after: 0 }
      const { messages } = await fetchMessages(range, signal)
      if (!signal.aborted) addAll(view, messages)
      return
    } catch (error) {
      await waitAfter(error, failures, signal)
    }
  }
}

function addAll(view: RealmView, messages: readonly ReceivedMessage[]): void {
  const groups = new Map<string, ReceivedMessage[]>()
  for (const message of messages.toReversed()) {
    if (deleted.has(message.id)) continue
    const key = keyOf(conversationOf(message, view.ownId))
    const group = groups.get(key) ?? []
    if (group.length === 0 && groups.size >= CONVERSATIONS_MAX) continue
    groups.set(key, group)
    if (group.length < MESSAGES_MAX) group.unshift(message)
  }
  for (const group of [...groups.values()].toReversed()) {
    const [first] = group
    if (first !== undefined) add(view, conversationOf(first, view.ownId), group)
  }
  filling = null
  deleted.clear()
  planWrite()
}

function add(view: RealmView, conversation: ConversationRef, messages: readonly ReceivedMessage[]): void {
  if (conversation.kind === 'topic' && lostChannels.has(conversation.channelId)) return
  drop(keyOf(conversation))
  const list = createMessageList(sourceOf(conversation, view.ownId), view.ownId, planWrite)
  list.take(messages.slice(-MESSAGES_MAX))
  view.lists.add(list)
  lists.set(keyOf(conversation), { conversation, list, written: null, characters: 0 })
}

async function write(): Promise<void> {
  writing = undefined
  const view = realm
  if (view === null) return
  for (const [key, kept] of lists) {
    const messages = kept.list.messages.slice(-MESSAGES_MAX)
    if (kept.written === kept.list.messages) continue
    kept.written = kept.list.messages
    kept.characters = JSON.stringify(messages).length
    await writeCache(key, { messages } satisfies StoredMessages)
    if (realm !== view) return
  }
  dropOldest()
  if (Date.now() - viewWrittenMs < VIEW_EVERY_MS) {
    writeAfter(VIEW_EVERY_MS)
    return
  }
  viewWrittenMs = Date.now()
  await writeCache(VIEW, { view: packView(view), atMs: Date.now() } satisfies StoredView)
}

function writeAfter(ms: number): void {
  writing ??= setTimeout(() => void write().catch(() => {}), ms)
}

function dropOldest(): void {
  let characters = [...lists.values()].reduce((sum, one) => sum + one.characters, 0)
  for (const [key, { characters: own }] of [...lists]) {
    if (lists.size <= CONVERSATIONS_MAX + OPENED_MAX && characters <= CHARACTERS_MAX) return
    drop(key)
    characters -= own
  }
}
