/**
 * Shows notifications of messages, also while no tab of the page is open. The push service delivers the id of a message, and with the
 * operator's consent its text; without it the worker fetches the message with the session. `chat/CONTRACT.md`, section 3.9.1.
 */

import type { ReceivedMessage } from './model/types.ts'
import {
  addressOfMessage,
  type MessageNotice,
  noticeOfMessage,
  noticeOfPush,
  noticeOfTest,
  noticeWithoutText,
  type PushedText,
} from './push-notice.ts'
import { noticeWords as words } from './words/notices.ts'

interface WorkerEvent extends Event {
  waitUntil(done: Promise<unknown>): void
}

interface PushEvent extends WorkerEvent {
  readonly data: { json(): unknown } | null
}

interface NotificationEvent extends WorkerEvent {
  readonly notification: Notification
}

interface SubscriptionChange extends WorkerEvent {
  readonly oldSubscription: PushSubscription | null
}

interface WindowClient {
  readonly focused: boolean
  focus(): Promise<WindowClient>
  postMessage(message: OpenRequest): void
}

interface PushScope {
  readonly registration: ServiceWorkerRegistration
  readonly clients: {
    matchAll(options: { type: 'window'; includeUncontrolled: true }): Promise<readonly WindowClient[]>
    openWindow(url: string): Promise<unknown>
  }
  addEventListener(type: 'push', act: (event: PushEvent) => void): void
  addEventListener(type: 'notificationclick', act: (event: NotificationEvent) => void): void
  addEventListener(type: 'pushsubscriptionchange', act: (event: SubscriptionChange) => void): void
}

/** Asks a tab to show a view. */
export interface OpenRequest {
  readonly open: string
}

export interface NoticeData {
  readonly messageId?: number
  readonly address: string | null
}

const BASE = '/api/v1'
const FETCH_MS_MAX = 5000 // the browser ends a worker that shows nothing

export function handlePushes(scope: PushScope): void {
  const { registration, clients } = scope
  const windows = () => clients.matchAll({ type: 'window', includeUncontrolled: true })

  scope.addEventListener('push', (event) =>
    event.waitUntil(receive(event.data?.json() as PushedText & { test?: true })),
  )
  scope.addEventListener('notificationclick', (event) => {
    event.notification.close()
    event.waitUntil(open(event.notification.data as NoticeData))
  })
  scope.addEventListener('pushsubscriptionchange', (event) => event.waitUntil(renew(event.oldSubscription)))

  async function receive(pushed: PushedText & { test?: true }): Promise<void> {
    if (pushed.test) return show(noticeOfTest(words()))
    if ((await windows()).some(({ focused }) => focused)) return // the user sees the page
    const known = noticeOfPush(pushed, words())
    if (known !== null) await show(known)
    const shown = await registration.getNotifications()
    const ids = shown.map(({ data }) => (data as NoticeData).messageId).filter((id) => id !== undefined)
    const found = await fetchMessages([...new Set([pushed.id, ...ids])])
    if (found === 'signedOut') return signOut()
    if (found === null) return known === null ? show(noticeWithoutText(pushed, words())) : undefined
    const message = found.get(pushed.id)
    if (known === null && isUnread(message)) await show(noticeOfMessage(message, pushed.hidden === true, words()))
    for (const one of await registration.getNotifications()) {
      const { messageId } = one.data as NoticeData
      if (messageId !== undefined && !isUnread(found.get(messageId))) one.close()
    }
  }

  async function show({ title, body, tag, icon, messageId, address }: MessageNotice): Promise<void> {
    const data: NoticeData = { ...(messageId !== undefined && { messageId }), address }
    await registration.showNotification(title, { body, tag, data, ...(icon !== undefined && { icon }) })
  }

  async function open({ messageId, address }: NoticeData): Promise<void> {
    const all = await windows()
    const target = all.find(({ focused }) => focused) ?? all[0]
    const found = address ?? (await findAddress(messageId))
    if (target === undefined) {
      await clients.openWindow(`/${found ?? ''}`)
      return
    }
    await target.focus().catch(() => {}) // the browser may not permit it, and the tab shows the view all the same
    if (found !== null) target.postMessage({ open: found })
  }

  /** Without a session nobody may be told of its messages. */
  async function signOut(): Promise<void> {
    for (const one of await registration.getNotifications()) one.close()
    await (await registration.pushManager.getSubscription())?.unsubscribe()
  }

  async function renew(old: PushSubscription | null): Promise<void> {
    const key = old?.options.applicationServerKey
    if (!key) return // the page subscribes at its next start
    const subscription = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key })
    const { endpoint = '', keys: { p256dh = '', auth = '' } = {} } = subscription.toJSON()
    await fetch(`${BASE}/web_push`, { method: 'POST', body: new URLSearchParams({ endpoint, p256dh, auth }) })
  }
}

const isUnread = (message: ReceivedMessage | undefined): message is ReceivedMessage =>
  message !== undefined && !message.flags.includes('read')

async function findAddress(messageId: number | undefined): Promise<string | null> {
  if (messageId === undefined) return null
  const found = await fetchMessages([messageId])
  const message = found instanceof Map ? found.get(messageId) : undefined
  return message === undefined ? null : addressOfMessage(message)
}

/** Null without an answer, and while the appliance is locked. Messages that the account may not read are missing. */
async function fetchMessages(ids: readonly number[]): Promise<Map<number, ReceivedMessage> | 'signedOut' | null> {
  try {
    const query = new URLSearchParams({
      ...{ message_ids: JSON.stringify(ids), client_gravatar: 'false', allow_empty_topic_name: 'true' },
    })
    const answer = await fetch(`${BASE}/messages?${query}`, {
      signal: AbortSignal.timeout(FETCH_MS_MAX),
      cache: 'no-store',
      redirect: 'error',
    })
    if (answer.status === 401) return 'signedOut'
    if (!answer.ok) return null
    const { messages } = (await answer.json()) as { messages: ReceivedMessage[] }
    return new Map(messages.map((message) => [message.id, message]))
  } catch {
    return null
  }
}
