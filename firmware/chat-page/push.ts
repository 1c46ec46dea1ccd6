/** Push notifications of this browser: subscribes it, keeps the subscription, and closes notifications of messages that were read. */

import { effect } from '@preact/signals'
import { call } from './api.ts'
import { realm, revision, stage } from './connection.ts'
import { permission } from './notify.ts'
import { go } from './place.ts'
import type { NoticeData, OpenRequest } from './service-worker-push.ts'
import { isPushed, shell } from './shell.ts'
import { words } from './words/words.ts'

/** Answer of GET /web_push. */
export interface PushInfo {
  /** Empty while Web Push is off. */
  key: string
  hosts: readonly string[]
  content: boolean
  subscribed: boolean
}

const CLOSE_AFTER_MS = 2000 // a push may arrive before the event of its message

export const canBePushed = (): boolean => shell.value === 'installed' && 'PushManager' in globalThis

export function startPush(): void {
  let isClosing = false
  effect(() => {
    if (shell.value === 'installed' && realm.value !== null) void keepSubscription().catch(() => {})
  })
  effect(() => {
    void revision.value
    if (!isPushed.value || (realm.value === null && stage.value !== 'sealed')) return
    if (isClosing) return
    isClosing = true
    setTimeout(() => {
      isClosing = false
      void closeRead().catch(() => {})
    }, CLOSE_AFTER_MS)
  })
  navigator.serviceWorker?.addEventListener('message', ({ data }: MessageEvent<Partial<OpenRequest>>) => {
    if (typeof data?.open === 'string' && data.open.startsWith('#')) go(data.open)
  })
}

export const readPushInfo = (signal: AbortSignal): Promise<PushInfo> => call('GET', '/web_push', {}, { signal })

/** Throws `Error` with a reason for the user. */
export async function turnPushOn(key: string): Promise<void> {
  permission.value = await Notification.requestPermission()
  if (permission.value !== 'granted') throw new Error(words.notificationsDenied)
  await subscribe(await navigator.serviceWorker.ready, key)
}

export async function turnPushOff(): Promise<void> {
  const subscription = await currentSubscription()
  await call('DELETE', '/web_push')
  await subscription?.unsubscribe()
  isPushed.value = false
}

export const testPush = (): Promise<{ status: number }> => call('POST', '/web_push/test')

async function subscribe({ pushManager }: ServiceWorkerRegistration, key: string): Promise<void> {
  const options = { userVisibleOnly: true, applicationServerKey: key }
  const subscription = await pushManager.subscribe(options).catch((error: Error) => {
    throw new Error(words.pushServiceFailed(error.message))
  })
  const { endpoint, keys } = subscription.toJSON()
  try {
    await call('POST', '/web_push', { endpoint, p256dh: keys?.p256dh, auth: keys?.auth })
  } catch (error) {
    await subscription.unsubscribe()
    throw error
  }
  isPushed.value = true
}

let isKept = false

/** Once for each page: repairs a subscription that the server or the push service has dropped. */
async function keepSubscription(): Promise<void> {
  if (isKept) return
  isKept = true
  const subscription = await currentSubscription()
  if (subscription === null) return
  const { key, subscribed } = await call<PushInfo>('GET', '/web_push')
  const isOfKey = key === '' || encoded(subscription.options.applicationServerKey) === key
  isPushed.value = subscribed && isOfKey
  if (isPushed.value || key === '') return
  await subscription.unsubscribe() // it has ended, or belongs to another key
  if (Notification.permission === 'granted') await subscribe(await navigator.serviceWorker.ready, key)
}

const currentSubscription = async (): Promise<PushSubscription | null> =>
  (await (await navigator.serviceWorker?.getRegistration())?.pushManager?.getSubscription()) ?? null

const encoded = (bytes: ArrayBuffer | null): string =>
  btoa(String.fromCharCode(...new Uint8Array(bytes ?? new ArrayBuffer(0))))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')

/** While the appliance is locked, closes all. */
async function closeRead(): Promise<void> {
  const registration = await navigator.serviceWorker.getRegistration()
  const view = realm.value
  for (const one of (await registration?.getNotifications()) ?? []) {
    const { messageId } = (one.data ?? {}) as Partial<NoticeData>
    if (messageId !== undefined && view?.unread.has(messageId) !== true) one.close()
  }
}
