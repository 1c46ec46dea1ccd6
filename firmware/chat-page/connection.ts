/** The only connection of this tab: registers an event queue, applies its events, and sets the stage that the page shows. */

import { signal } from '@preact/signals'
import { CallRefused, call } from './api.ts'
import { forgetDrafts, sendDraftsNow, startDrafts, takeServerDrafts } from './drafts.ts'
import { closeKept, openKept } from './kept.ts'
import { applyEvent, createRealmView, type RealmView } from './model/realm.ts'
import type { QueueEvent, Registered } from './model/types.ts'
import { forgetOutbox, settle, startOutbox } from './outbox.ts'
import { destroyVault } from './vault.ts'
import { backOffMs, wait } from './wait.ts'

export type Stage = 'starting' | 'signedOut' | 'ready' | 'sealed' | 'unreachable'

export const stage = signal<Stage>('starting')
export const signedOutBecause = signal<'' | 'left' | 'ended'>('')
/** Null until the first answer, and while the appliance is locked. */
export const realm = signal<RealmView | null>(null)
/** Incremented after each change of the object in `realm`. Views read it in order to be rendered again. */
export const revision = signal(0)
/** True if the server has not answered for some seconds. */
export const isOffline = signal(false)

export const changed = (): void => {
  revision.value++
}

const FIRST_WAIT_MS = 1000
export const SEALED_WAIT_MS = 5000
const SEALED_TRIES = 3 // a restarted chat process is not ready for a moment, either

const FETCHED = [
  ...['message', 'update_message_flags', 'realm', 'realm_user', 'subscription'],
  ...['user_settings', 'user_topic', 'recent_private_conversations', 'drafts'],
  ...['realm_emoji', 'realm_user_groups', 'user_status', 'muted_users'],
  ...['default_streams', 'realm_playgrounds'],
]
const EVENTS = [
  ...['message', 'update_message', 'delete_message', 'update_message_flags', 'reaction'],
  ...['realm', 'realm_user', 'subscription', 'stream', 'user_topic', 'user_settings', 'drafts'],
  ...['submessage', 'realm_emoji', 'user_group', 'user_status', 'muted_users'],
  ...['default_streams', 'realm_playgrounds'],
]
const CAPABILITIES = {
  notification_settings_null: true,
  bulk_message_deletion: true,
  user_avatar_url_field_optional: false,
  stream_typing_notifications: false,
  user_settings_object: true,
  linkifier_url_template: true,
  user_list_incomplete: true,
  include_deactivated_groups: true,
  archived_channels: true,
  empty_topic_name: true,
  simplified_presence_events: true,
}

let queue: { id: string; lastEventId: number } | null = null
let running: AbortController | null = null
/** User id of the drafts and outgoing messages in memory. */
let ownId: number | null = null
let failures = 0
let refusals = 0

addEventListener('pagehide', sendDraftsNow)

export function connect(): void {
  running?.abort()
  running = new AbortController()
  queue = null
  failures = 0
  refusals = 0
  stage.value = 'starting'
  void run(running.signal)
}

export function disconnect(because: 'left' | 'ended' | ''): void {
  running?.abort()
  queue = null
  realm.value = null
  forgetTexts()
  void destroyVault().catch(() => {}) // best effort: signing out tells the browser to delete it, too
  signedOutBecause.value = because
  stage.value = 'signedOut'
}

function forgetTexts(): void {
  ownId = null
  forgetDrafts()
  forgetOutbox()
  closeKept()
}

/** Handles a refused call of a view: with 401 the page shows the sign-in form. */
export function noteFailure(error: unknown): void {
  if (!(error instanceof CallRefused)) return
  if (error.status === 401) disconnect(realm.value === null ? '' : 'ended')
}

async function run(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await (queue === null ? register(signal) : poll(signal))
      failures = 0
      refusals = 0
      isOffline.value = false
    } catch (error) {
      if (signal.aborted) return
      await wait(handle(error), signal)
    }
  }
}

async function register(signal: AbortSignal): Promise<void> {
  const registered = await call<Registered>(
    'POST',
    '/register',
    {
      ...{ event_types: EVENTS, fetch_event_types: FETCHED, client_capabilities: CAPABILITIES },
      ...{ apply_markdown: true, client_gravatar: false, include_subscribers: false },
    },
    { signal },
  )
  // Without a session the server answers with public data only, and this page needs an account.
  if (registered.queue_id === null) return disconnect('')
  const view = createRealmView(registered)
  // Another tab has signed in as another user, who must not get the texts of this account.
  if (ownId !== null && ownId !== view.ownId) forgetTexts()
  ownId = view.ownId
  const kept = await openKept(view.ownId)
  if (signal.aborted) return closeKept()
  queue = { id: registered.queue_id, lastEventId: registered.last_event_id }
  realm.value = view
  startDrafts(view, kept)
  startOutbox({ ownId: view.ownId, queueId: () => queue?.id ?? null, noteFailure }, kept)
  stage.value = 'ready'
  changed()
}

async function poll(signal: AbortSignal): Promise<void> {
  const { id, lastEventId } = queue!
  const { events } = await call<{ events: QueueEvent[] }>(
    'GET',
    '/events',
    { queue_id: id, last_event_id: lastEventId },
    { signal },
  )
  const view = realm.value
  if (signal.aborted || view === null || queue === null) return
  for (const event of events) {
    applyEvent(view, event)
    if (event.type === 'message') settle(event.message.id, event.local_message_id)
    queue.lastEventId = Math.max(queue.lastEventId, event.id)
  }
  if (events.some(({ type }) => type === 'drafts')) takeServerDrafts()
  stage.value = 'ready'
  if (events.some(({ type }) => type !== 'heartbeat')) changed()
}

/** Sets the stage. Returns the delay before the next attempt in milliseconds. */
function handle(error: unknown): number {
  if (error instanceof CallRefused) {
    isOffline.value = false
    if (error.code === 'SERVER_NOT_READY') return handleSealed()
    if (error.code === 'BAD_EVENT_QUEUE_ID') {
      queue = null
      return 0
    }
    if (error.status === 401) {
      disconnect(realm.value === null && stage.value === 'starting' ? '' : 'ended')
      return 0
    }
    if (error.status === 429) return error.retryAfterS * 1000
  }
  failures++
  if (realm.value === null) stage.value = stage.value === 'sealed' ? 'sealed' : 'unreachable'
  else isOffline.value = failures > 1
  return backOffMs(failures)
}

/** Removes all content of the chat from the screen after a lock. */
function handleSealed(): number {
  refusals++
  if (realm.value !== null && refusals < SEALED_TRIES) return FIRST_WAIT_MS
  realm.value = null
  queue = null
  stage.value = 'sealed'
  return SEALED_WAIT_MS
}
