/**
 * Drafts. Each key press saves them in the vault of this browser, if there is one. Soon after the last key press they go to the
 * server, which shows them on the account's other devices. They survive a change of view and a lock of the appliance.
 */

import { type Signal, signal } from '@preact/signals'
import { CallRefused, call } from './api.ts'
import { keep } from './kept.ts'
import { type ConversationRef, directWith, keyOf } from './model/conversation.ts'
import type { RealmView } from './model/realm.ts'
import type { DraftOfServer } from './model/types.ts'

const AFTER_LAST_KEY_MS = 2000
const AGAIN_MS = 15_000
const WRITTEN_MAX = 3
const RECORD = 'draft '

interface Draft {
  readonly text: Signal<string>
  /** Null if the text stays in this page, as that of an edited message does. */
  conversation: ConversationRef | null
  serverId: number | null
  /** True if the server does not have this text yet. */
  isChanged: boolean
  /** The last texts sent to the server from here: their events may arrive late. */
  written: readonly string[]
  /** Text of the message that is edited, as it was when the edit began. It is stored with the typed text. */
  base?: string
}

interface KeptDraft extends Omit<Draft, 'text'> {
  text: string
}

const drafts = new Map<string, Draft>()
const timers = new Map<string, ReturnType<typeof setTimeout>>()
const writing = new Set<string>()
let realm: RealmView | null = null

/** The server drops white space at the end. */
const asStored = (text: string): string => text.trimEnd()

/** Text of the box with that key. Initially the server's draft for the conversation. */
export function draftOf(key: string, conversation: ConversationRef | null = null): Signal<string> {
  const known = drafts.get(key)
  if (known !== undefined) return known.text
  const stored = conversation === null ? undefined : newestFor(conversation)
  const draft: Draft = {
    ...{ text: signal(stored?.content ?? ''), conversation },
    ...{ serverId: stored?.id ?? null, isChanged: false, written: stored ? [stored.content] : [] },
  }
  drafts.set(key, draft)
  return draft.text
}

/** Stores what the user typed. Resolves when it is on disk, or cannot be written. */
export function setDraft(key: string, text: string, conversation: ConversationRef | null = null): Promise<void> {
  draftOf(key, conversation).value = text
  const draft = drafts.get(key)
  if (draft === undefined) return Promise.resolve()
  draft.conversation = conversation
  draft.isChanged = conversation !== null
  plan(key, text === '' ? 0 : AFTER_LAST_KEY_MS)
  return keepDraft(key, draft)
}

/** Begins the edit of a message. Resolves as `setDraft` does. */
export function beginEdit(key: string, base: string): Promise<void> {
  draftOf(key)
  const draft = drafts.get(key)
  if (draft !== undefined) draft.base = base
  return setDraft(key, base)
}

/** Text that the edit was begun with; undefined without an edit. */
export const baseOf = (key: string): string | undefined => drafts.get(key)?.base

/** `change` gets what is written for the conversation. */
export function changeDraft(conversation: ConversationRef, change: (typed: string) => string): Promise<void> {
  const key = keyOf(conversation)
  return setDraft(key, change(draftOf(key, conversation).value), conversation)
}

/** Adds a text, on a line of its own, to what is written for the conversation. */
export const appendToDraft = (conversation: ConversationRef, text: string): Promise<void> =>
  changeDraft(conversation, (typed) => (typed === '' ? text : `${typed}\n${text}`))

/** Takes what is written for a conversation along to the one that it was moved to. */
export function moveDraft(from: ConversationRef, to: ConversationRef): void {
  const key = keyOf(from)
  const { value } = draftOf(key, from)
  if (value === '' || key === keyOf(to)) return
  void appendToDraft(to, value)
  void setDraft(key, '', from)
}

export const conversationOfDraft = (key: string): ConversationRef | null => drafts.get(key)?.conversation ?? null

/** Forgets all drafts, so that the next user of this browser does not see them. */
export function forgetDrafts(): void {
  for (const timer of timers.values()) clearTimeout(timer)
  timers.clear()
  drafts.clear()
  realm = null
}

/** While the appliance is locked: keeps what the user typed, and nothing else of the chat. */
export function pauseDrafts(): void {
  realm = null
}

/**
 * Merges the drafts of this page, of an earlier page, and of the server. A text typed in this page wins. Unless this tab leads, the tab
 * that typed a text may still be open, and sends it itself.
 */
export function startDrafts(view: RealmView, kept: readonly (readonly [string, unknown])[], isLeading: boolean): void {
  realm = view
  for (const [name, value] of kept) {
    const key = name.slice(RECORD.length)
    if (!name.startsWith(RECORD) || drafts.has(key)) continue
    const { text, ...rest } = value as KeptDraft
    const stored = rest.conversation && rest.serverId === null ? newestFor(rest.conversation) : undefined
    const isStored = stored?.content === asStored(text) // sent, but the page was left before the answer came
    const isChanged = rest.isChanged && isLeading
    drafts.set(key, {
      ...{ ...rest, isChanged, text: signal(text) },
      ...(isStored && { serverId: stored.id, isChanged: false }),
    })
  }
  takeServerDrafts()
}

/** Takes over drafts that changed on the server, from here or another device. */
export function takeServerDrafts(): void {
  for (const [key, draft] of drafts) {
    if (draft.isChanged) {
      plan(key, AFTER_LAST_KEY_MS)
      continue
    }
    if (draft.conversation === null || writing.has(key)) continue
    const stored = draft.serverId === null ? undefined : realm?.drafts.get(draft.serverId)
    if (stored !== undefined && [asStored(draft.text.value), ...draft.written].includes(stored.content)) continue
    const other = stored ?? newestFor(draft.conversation, draft.written)
    if (other === undefined && draft.serverId === null) continue
    draft.serverId = other?.id ?? null
    draft.text.value = other?.content ?? ''
    draft.written = other === undefined ? draft.written : [other.content]
    void keepDraft(key, draft)
  }
}

/** Sends unsaved drafts when the page is left; the browser completes the requests. */
export function sendDraftsNow(): void {
  for (const [key, { isChanged }] of drafts) if (isChanged) void write(key, true)
}

export const placeOfDraft = ({ type, to, topic }: DraftOfServer, ownId: number): ConversationRef | null => {
  if (type === 'stream') return to[0] === undefined ? null : { kind: 'topic', channelId: to[0], topic }
  return type === 'private' ? directWith(to, ownId) : null
}

function newestFor(conversation: ConversationRef, without: readonly string[] = []): DraftOfServer | undefined {
  if (realm === null) return undefined
  const { ownId } = realm
  const taken = new Set([...drafts.values()].map(({ serverId }) => serverId))
  return [...realm.drafts.values()]
    .sort((a, b) => b.timestamp - a.timestamp)
    .find((draft) => {
      const place = placeOfDraft(draft, ownId)
      return (
        place !== null &&
        keyOf(place) === keyOf(conversation) &&
        !taken.has(draft.id) &&
        !without.includes(draft.content)
      )
    })
}

/** True for a new topic that has a name but no message yet. */
const hasTypedTopic = (key: string, { conversation }: Pick<Draft, 'conversation'>): boolean =>
  conversation?.kind === 'topic' && conversation.topic !== '' && keyOf(conversation) !== key

function keepDraft(key: string, { text, ...draft }: Draft): Promise<void> {
  const isGone = text.value === '' && !draft.isChanged && !hasTypedTopic(key, draft)
  return keep(RECORD + key, isGone ? undefined : ({ ...draft, text: text.value } satisfies KeptDraft))
}

function plan(key: string, ms: number): void {
  clearTimeout(timers.get(key))
  timers.set(
    key,
    setTimeout(() => void write(key), ms),
  )
}

async function write(key: string, isLast = false): Promise<void> {
  const draft = drafts.get(key)
  if (realm === null || draft === undefined || !draft.isChanged || draft.conversation === null || writing.has(key))
    return
  if (!realm.settings.enable_drafts_synchronization) return
  const content = draft.text.value
  if ([...content].length > realm.maxMessageLength) return // the server would cut the text off
  const theirs = draft.serverId === null ? undefined : realm.drafts.get(draft.serverId)
  // Another device has changed it: both texts stay, as two drafts.
  if (theirs !== undefined && !draft.written.includes(theirs.content)) draft.serverId = null
  writing.add(key)
  draft.written = [...draft.written, asStored(content)].slice(-WRITTEN_MAX)
  try {
    draft.serverId = await replace(draft.serverId, draft.conversation, content, realm, isLast)
    draft.isChanged = draft.text.value !== content
  } catch (error) {
    // A final refusal (no room, or invalid) is not retried. The text stays here.
    if (!(error instanceof CallRefused) || error.status === 429 || error.status >= 500) plan(key, AGAIN_MS)
    return
  } finally {
    writing.delete(key)
  }
  await keepDraft(key, draft)
  if (draft.isChanged) plan(key, AFTER_LAST_KEY_MS)
}

/** Returns the id of the server's draft; null if it has none. */
async function replace(
  id: number | null,
  conversation: ConversationRef,
  content: string,
  { ownId }: RealmView,
  isLast: boolean,
): Promise<number | null> {
  const extras = { isLast }
  const ignoreGone = (error: unknown) => {
    if (!(error instanceof CallRefused) || error.status !== 404) throw error
    return null
  }
  if (content.trim() === '') {
    if (id !== null) await call('DELETE', `/drafts/${id}`, {}, extras).catch(ignoreGone)
    realm?.drafts.delete(id ?? 0)
    return null
  }
  const draft = formOf(conversation, asStored(content), ownId)
  const isReplaced = id !== null && (await call('PATCH', `/drafts/${id}`, { draft }, extras).catch(ignoreGone)) !== null
  const { ids } = isReplaced
    ? { ids: [id] }
    : await call<{ ids: number[] }>('POST', '/drafts', { drafts: [draft] }, extras)
  const [now = null] = ids
  if (now === null) return null
  realm?.drafts.set(now, { ...draft, id: now }) // the view may have been replaced meanwhile
  return now
}

const formOf = (conversation: ConversationRef, content: string, ownId: number): Omit<DraftOfServer, 'id'> => ({
  ...(conversation.kind === 'topic'
    ? { type: 'stream' as const, to: [conversation.channelId], topic: conversation.topic }
    : { type: 'private' as const, to: conversation.userIds.length === 0 ? [ownId] : conversation.userIds, topic: '' }),
  content,
  timestamp: Math.floor(Date.now() / 1000),
})
