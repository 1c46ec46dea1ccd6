/**
 * The connection of this browser. One tab registers an event queue and polls it (tabs.ts); all of them apply its events, and show the
 * same stage.
 */

import { signal } from '@preact/signals'
import { CallRefused, call, limitMsOf } from './api.ts'
import { forgetDrafts, pauseDrafts, sendDraftsNow, startDrafts, takeServerDrafts } from './drafts.ts'
import { closeKept, isKept, isKeptOver, keptId, keptUser, openKept, renewKept, wipeOwnKept } from './kept.ts'
import type { ConversationRef } from './model/conversation.ts'
import { packView, unpackView } from './model/packed.ts'
import { applyEvent, createRealmView, type RealmView } from './model/realm.ts'
import { REGISTRATION } from './model/registration.ts'
import type { QueueEvent, ReceivedMessage, Registered } from './model/types.ts'
import { dropStale, planWrite, readStoredView, startStoring, stopStoring, storeOpened } from './offline.ts'
import {
  forgetOutbox,
  type OutboxChange,
  outbox,
  resumeOutbox,
  settle,
  startOutbox,
  takeOutboxChange,
} from './outbox.ts'
import { sealInMemory } from './sealed-store.ts'
import { installShell } from './shell.ts'
import { joinTabs, type Tabs } from './tabs.ts'
import { backOffMs, pause, wait, wake } from './wait.ts'
import { setClock } from './words/format.ts'
import { chooseLanguage } from './words/words.ts'

export type Stage = 'starting' | 'signedOut' | 'ready' | 'sealed' | 'unreachable'

export const stage = signal<Stage>('starting')
export const signedOutBecause = signal<'' | 'left' | 'ended'>('')
/** Null until the first answer, and while the appliance is locked. */
export const realm = signal<RealmView | null>(null)
/** Incremented after each change of the object in `realm`. Views read it in order to be rendered again. */
export const revision = signal(0)
/** True if the server has not answered for some seconds. */
export const isOffline = signal(false)
/** Time of the stored state that is shown until the server answers; 0 for the state of the server. */
export const storedAtMs = signal(0)

/** Called in the tab that leads, for each message that arrives. */
export const onMessage: { act: (view: RealmView, message: ReceivedMessage) => unknown } = { act: () => {} }

export const changed = (): void => {
  revision.value++
}

const FIRST_WAIT_MS = 1000
export const SEALED_WAIT_MS = 5000
const SEALED_TRIES = 3 // a restarted chat process is not ready for a moment, either
const ANSWER_OF_TAB_MS_MAX = 10_000 // then this tab leads in place of the one that does not answer
const LOOK_AT_TABS_MS = 30_000
/** Then stored state and messages are shown. A server that answers at once, also that it is locked, comes first. */
export const STORED_AFTER_MS = 500

interface QueuePosition {
  readonly id: string
  lastEventId: number
}

/** Messages between the tabs of this browser. `status` and `state` are of the tab that leads. */
type TabMessage =
  /** Asks for the status, and for the state if the tab has none, or one of another position. */
  | { kind: 'hello'; hasState: boolean; queue: QueuePosition | null }
  | ({ kind: 'status' } & Status)
  | ({ kind: 'state'; view: string; waiting: OutboxChange[] } & Status)
  | { kind: 'events'; queueId: string; after: number; events: QueueEvent[] }
  | { kind: 'outbox'; change: OutboxChange }
  /** Messages of a conversation that this device shall keep, as they are at that position of the queue. */
  | { kind: 'opened'; at: QueuePosition | null; conversation: ConversationRef; messages: readonly ReceivedMessage[] }
  /** `vaultId` tells of which session; null if that one is not remembered. */
  | { kind: 'left'; because: 'left' | 'ended' | ''; vaultId: string | null }

interface Status {
  stage: Stage
  isOffline: boolean
  storedAtMs: number
  queue: QueuePosition | null
}

let queue: QueuePosition | null = null
let running: AbortController | null = null
let tabs: Tabs<TabMessage> | null = null
/** The state of before a lock, sealed. It goes on after the unlock. */
let beforeLock: Promise<() => Promise<string>> | null = null
let tabAnswer: ReturnType<typeof setTimeout> | undefined
/** User id of the drafts and outgoing messages in memory. */
let ownId: number | null = null
let isLeaving = false
let failures = 0
let refusals = 0
/** True if another tab has ended a wait since the last answer. More tabs must not make more calls of a server that is away. */
let isWoken = false

addEventListener('pagehide', sendDraftsNow)
document.addEventListener('visibilitychange', lookAtTabs)
addEventListener('online', lookAtTabs)
setInterval(lookAtTabs, LOOK_AT_TABS_MS)

/** `isFirst` after a sign-in: other tabs may still have the state of another account. */
export function connect({ isFirst = false } = {}): void {
  running?.abort()
  running = new AbortController()
  const { signal } = running
  queue = null
  failures = 0
  refusals = 0
  isWoken = false
  stage.value = 'starting'
  let received = Promise.resolve()
  const receive = (message: TabMessage) => {
    received = received.then(() => (signal.aborted ? undefined : takeFromTab(message, signal))).catch(() => {})
  }
  tabs = joinTabs<TabMessage>({ signal, isFirst, lead, receive })
  sayHello()
}

/**
 * Calls `end`, which ends the session on the server, and then does as `disconnect`. The server may answer a waiting call with 401
 * before it answers that of `end`.
 */
export async function endSession(end: () => Promise<unknown>): Promise<void> {
  isLeaving = true
  try {
    await end()
    disconnect('left')
  } finally {
    isLeaving = false
  }
}

/** Ends the connection in all tabs of this session, and deletes what the session has stored in this browser. */
export function disconnect(because: 'left' | 'ended' | ''): void {
  const reason = isLeaving ? 'left' : because
  tabs?.post({ kind: 'left', because: reason, vaultId: keptId() })
  leave(reason)
}

function leave(because: 'left' | 'ended' | ''): void {
  running?.abort()
  clearTimeout(tabAnswer)
  queue = null
  beforeLock = null
  realm.value = null
  stopStoring()
  void wipeOwnKept()
  forgetTexts()
  signedOutBecause.value = because
  stage.value = 'signedOut'
}

function forgetTexts(): void {
  ownId = null
  forgetDrafts()
  forgetOutbox()
  closeKept()
}

/** Handles a refused call of a view: with 401 the page shows the sign-in form, unless it already does. */
export function noteFailure(error: unknown): void {
  if (!(error instanceof CallRefused)) return
  if (error.status === 401 && stage.value !== 'signedOut') disconnect(realm.value === null ? '' : 'ended')
}

function lookAtTabs(): void {
  if (document.visibilityState === 'visible' && running?.signal.aborted === false) sayHello()
}

/** Leads in place of a leader that does not answer. */
function sayHello(): void {
  if (tabs === null || tabs.isLeading) return
  postHello()
  tabAnswer ??= setTimeout(() => {
    tabAnswer = undefined
    if (tabs?.isLeading === false) tabs.takeOver()
  }, ANSWER_OF_TAB_MS_MAX)
}

const postHello = (): void => tabs?.post({ kind: 'hello', hasState: realm.value !== null, queue })

function tellTabs(): void {
  if (tabs?.isLeading) tabs.post({ kind: 'status', ...statusNow() })
}

const statusNow = (): Status => ({
  ...{ stage: stage.value, isOffline: isOffline.value, storedAtMs: storedAtMs.value, queue },
})

async function takeFromTab(message: TabMessage, signal: AbortSignal): Promise<void> {
  switch (message.kind) {
    case 'hello':
      if (tabs?.isLeading) answerTab(message.hasState, message.queue)
      return
    case 'outbox':
      return takeOutboxChange(message.change)
    case 'opened':
      // At another position this tab has applied events that the messages lack, such as deletions.
      if (isAt(message.at)) storeOpened(message.conversation, message.messages)
      return
    case 'left':
      // A tab that the browser had suspended tells of the end of an earlier session.
      if (isKept() && message.vaultId !== keptId()) return
      return leave(isLeaving ? 'left' : realm.value === null ? '' : message.because)
  }
  if (tabs?.isLeading) return // from the tab that led until now
  clearTimeout(tabAnswer)
  tabAnswer = undefined
  if (message.kind === 'events') return takeEvents(message.queueId, message.after, message.events)
  isOffline.value = message.isOffline
  const isCurrent = realm.value !== null && isAt(message.queue)
  if (message.stage !== 'ready') showWithoutState(message.stage)
  else if (message.kind === 'state' && !isCurrent) {
    await show(unpackView(message.view), message.queue, signal, message.storedAtMs)
    for (const change of message.waiting) takeOutboxChange(change)
  } else if (!isCurrent && message.kind === 'status') postHello()
}

function answerTab(hasState: boolean, at: QueuePosition | null): void {
  if (!isWoken && failures + refusals > 0) {
    isWoken = true
    wake()
  }
  const view = realm.value
  if (view === null || (hasState && isAt(at))) {
    tellTabs()
    return
  }
  const waiting = outbox.value.map((message) => ({ ownId: view.ownId, key: message.key, message }))
  tabs?.post({ kind: 'state', ...statusNow(), view: packView(view), waiting })
}

const isAt = (other: QueuePosition | null): boolean =>
  queue?.id === other?.id && queue?.lastEventId === other?.lastEventId

function takeEvents(queueId: string, after: number, events: readonly QueueEvent[]): void {
  if (realm.value !== null && queue?.id === queueId && queue.lastEventId === after) apply(realm.value, queue, events)
  else sayHello()
}

async function lead(signal: AbortSignal): Promise<void> {
  clearTimeout(tabAnswer)
  tabAnswer = undefined
  if (realm.value === null) queue = null
  else if (queue !== null) store(realm.value)
  resumeOutbox()
  signal.addEventListener('abort', stopStoring)
  while (!signal.aborted) {
    try {
      await (queue === null ? register(signal) : poll(queue, signal))
      if (signal.aborted) return
      if (realm.value !== null) void renew(offlineDays(realm.value))
      failures = 0
      refusals = 0
      isWoken = false
      if (isOffline.value) {
        isOffline.value = false
        tellTabs()
      }
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof CallRefused)) await showStored(signal)
      const ms = await handle(error, signal)
      if (signal.aborted) return
      tellTabs()
      await (limitMsOf(error) === null ? wait : pause)(ms, signal)
    }
  }
}

async function register(signal: AbortSignal): Promise<void> {
  const timer = setTimeout(() => void showStored(signal), STORED_AFTER_MS)
  const opened = keptUser() // a refusal deletes the vault of now, not one that a sign-in in another tab creates meanwhile
  const registered = await call<Registered>('POST', '/register', REGISTRATION, { signal }).finally(() => {
    clearTimeout(timer)
    return opened
  })
  // Without a session the server answers with public data only, and this page needs an account.
  if (registered.queue_id === null) return disconnect('')
  await show(createRealmView(registered), { id: registered.queue_id, lastEventId: registered.last_event_id }, signal)
  tellTabs()
}

/** Shows the state that this device has stored, until the server answers. */
async function showStored(signal: AbortSignal): Promise<void> {
  if (stage.value !== 'starting') return
  const stored = await readStoredView().catch(() => null)
  if (stored === null || stage.value !== 'starting' || signal.aborted) return
  await show(stored.view, null, signal, stored.atMs)
  tellTabs()
}

async function show(view: RealmView, at: QueuePosition | null, signal: AbortSignal, storedMs = 0): Promise<void> {
  // Another tab has signed in as another user, who must not get the texts of this account.
  if (ownId !== null && ownId !== view.ownId) forgetTexts()
  ownId = view.ownId
  const [kept] = await Promise.all([openKept(view.ownId), speak(view)])
  const isLate = queue !== null || (tabs?.isLeading === true && stage.value !== 'starting') // the server has answered
  if (signal.aborted || (storedMs !== 0 && isLate)) return
  if (storedMs !== 0) isOffline.value = true
  queue = at
  beforeLock = null
  realm.value = view
  storedAtMs.value = storedMs
  const isLeading = () => tabs?.isLeading === true
  startDrafts(view, kept, isLeading())
  startOutbox(
    {
      ...{ ownId: view.ownId, isLeading, noteFailure, queueId: () => queue?.id ?? null },
      share: (change) => tabs?.post({ kind: 'outbox', change }),
    },
    kept,
  )
  stage.value = 'ready'
  changed()
  if (at === null || !isKept() || offlineDays(view) === 0) return
  void installShell()
  if (isLeading()) store(view)
}

const offlineDays = ({ organization }: RealmView): number => Number(organization.page_offline_days ?? 0)

async function renew(days: number): Promise<void> {
  if (days > 0) return renewKept(days)
  stopStoring()
  if (isKept()) await wipeOwnKept()
}

function store(view: RealmView): void {
  if (isKept() && offlineDays(view) > 0) startStoring(view)
}

/** Keeps the newest messages of a conversation that was opened for starts without the server. */
export function keepOpened(conversation: ConversationRef, messages: readonly ReceivedMessage[]): void {
  if (!isKept()) return
  if (tabs?.isLeading) storeOpened(conversation, messages)
  else tabs?.post({ kind: 'opened', at: queue, conversation, messages })
}

async function poll(at: QueuePosition, signal: AbortSignal): Promise<void> {
  const isAfterLock = realm.value === null
  const { events } = await call<{ events: QueueEvent[] }>(
    'GET',
    '/events',
    { queue_id: at.id, last_event_id: at.lastEventId, ...(isAfterLock && { dont_block: true }) },
    { signal },
  )
  if (isAfterLock) {
    const view = await restored()
    if (view === null) queue = null
    else {
      take(view, at, events) // before drafts are merged: the last ones of before the lock are among them
      await show(view, at, signal)
      tellOfMessages(view, events)
    }
    tellTabs()
    return
  }
  const view = realm.value
  if (signal.aborted || view === null || queue !== at) return
  const after = at.lastEventId
  apply(view, at, events)
  if (at.lastEventId > after) tabs?.post({ kind: 'events', queueId: at.id, after, events })
}

function take(view: RealmView, at: QueuePosition, events: readonly QueueEvent[]): void {
  for (const event of events) {
    applyEvent(view, event)
    dropStale(event)
    if (event.type === 'message') settle(event.message.id, event.local_message_id)
    at.lastEventId = Math.max(at.lastEventId, event.id)
  }
}

/** Called once `realm` is the view. */
function tellOfMessages(view: RealmView, events: readonly QueueEvent[]): void {
  if (!tabs?.isLeading) return
  for (const { type, message, flags } of events) if (type === 'message') onMessage.act(view, { ...message, flags })
}

function apply(view: RealmView, at: QueuePosition, events: readonly QueueEvent[]): void {
  take(view, at, events)
  tellOfMessages(view, events)
  if (events.some(({ type }) => type === 'drafts')) takeServerDrafts()
  if (events.every(({ type }) => type === 'heartbeat')) return
  if (events.some(({ type }) => type === 'user_settings')) void speak(view)
  changed()
  planWrite()
}

/** Texts and times are those that the account has chosen. */
function speak({ settings }: RealmView): Promise<void> {
  setClock(settings.twenty_four_hour_time)
  return chooseLanguage([String(settings.default_language)])
}

/** Sets the stage. Returns the delay before the next attempt in milliseconds. */
async function handle(error: unknown, signal: AbortSignal): Promise<number> {
  if (error instanceof CallRefused) {
    isOffline.value = false
    if (error.code === 'SERVER_NOT_READY') return handleSealed()
    // The queue is gone, or another tab has taken events from it that this one did not get.
    if (error.status === 400 && queue !== null) {
      queue = null
      return 0
    }
    if (error.status === 401) {
      disconnect(realm.value === null && stage.value === 'starting' ? '' : 'ended')
      return 0
    }
    const limitMs = limitMsOf(error)
    if (limitMs !== null) return limitMs
  }
  const isOver = await isKeptOver()
  if (signal.aborted) return 0
  if (isOver) {
    disconnect('ended')
    return 0
  }
  failures++
  if (realm.value === null) stage.value = stage.value === 'sealed' ? 'sealed' : 'unreachable'
  else isOffline.value = failures > 1
  return backOffMs(failures)
}

function handleSealed(): number {
  refusals++
  if (realm.value !== null && storedAtMs.value === 0 && refusals < SEALED_TRIES) return FIRST_WAIT_MS
  if (realm.value !== null && queue !== null) beforeLock = sealInMemory(packView(realm.value))
  showWithoutState('sealed')
  return SEALED_WAIT_MS
}

/** Removes all content of the chat from the screen and from memory. */
function showWithoutState(next: Stage): void {
  if (next !== 'sealed' && realm.value !== null) return
  realm.value = null
  stopStoring()
  pauseDrafts()
  stage.value = next
}

/** Null if this tab did not lead when the appliance was locked. */
async function restored(): Promise<RealmView | null> {
  const open = await beforeLock
  return open === null ? null : unpackView(await open())
}
