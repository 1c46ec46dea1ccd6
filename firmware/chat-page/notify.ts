/** Notifications of this tab: title, icon, badge, sound, and the browser's or the desktop app's notification. */

import { effect, signal } from '@preact/signals'
import { defined } from '../base/defined.ts'
import { endSession, onMessage, realm, revision, stage } from './connection.ts'
import { desktopApp, tellDesktop } from './desktop.ts'
import { appendToDraft } from './drafts.ts'
import { addressOfArea, type ConversationRef, conversationOf } from './model/conversation.ts'
import { hasUnreadDirects, noticeOf, unreadCount } from './model/notify.ts'
import type { RealmView } from './model/realm.ts'
import type { ReceivedMessage } from './model/types.ts'
import { fullName, linkTo } from './names.ts'
import { send } from './outbox.ts'
import { go } from './place.ts'
import { messageText, tagOf, titleOf } from './push-notice.ts'
import type { NoticeData } from './service-worker-push.ts'
import { signOut } from './session.ts'
import { isPushed } from './shell.ts'
import { openDialog } from './wanted.ts'
import { words } from './words/words.ts'

const FOCUS_LOCK = 'coffer-chat focus'
const TONE_HZ = 660
const TONE_S = 0.25
const LOUDNESS = 0.1
const ANSWERABLE_MAX = 100 // more than an app shows at once

/** Title of the view, without the number of unread messages. */
export const viewTitle = signal('')
/** `default` until the user has decided; the desktop app needs no permission. */
export const permission = signal<NotificationPermission>(globalThis.Notification?.permission ?? 'denied')

interface ShownNotification {
  readonly messageId: number
  readonly ownId: number
  close(): void
}

let told = ''
/** By tag: a notification replaces an earlier one of its conversation. */
const shown = new Map<string, ShownNotification>()
/** Conversations of the app's last notifications, by message id. The app may reply to one that another has replaced. */
const answerable = new Map<number, ConversationRef>()
/** Account of these. */
let answeringId: number | null = null

export function startNotifying(): void {
  effect(() => {
    const view = realm.value
    void revision.value
    showCount(viewTitle.value, view)
    closeUnless(({ ownId, messageId }) => view?.ownId === ownId && view.unread.has(messageId))
    if (stage.value === 'signedOut' || (view !== null && view.ownId !== answeringId)) answerable.clear()
    answeringId = view?.ownId ?? answeringId
  })
  addEventListener('pagehide', () => closeUnless(() => false)) // no other page can close them
  serveDesktop()
  onMessage.act = (view, message) => void notify(view, message)
  addEventListener('focus', () => void holdFocus())
  void holdFocus()
}

/** Entries of the app's menu, and replies to its notifications. */
function serveDesktop(): void {
  const app = desktopApp()
  app?.on_event('show-notification-settings', () => go(addressOfArea('settings', 'notifications')))
  app?.on_event('show-keyboard-shortcuts', () => {
    openDialog.value = 'shortcuts'
  })
  app?.on_event('logout', () => void endSession(signOut))
  app?.set_send_notification_reply_message_supported?.(true)
  app?.on_event('send_notification_reply_message', (messageId, text) => {
    const conversation = reply(Number(messageId), text)
    if (conversation !== null) go(linkTo(defined(realm.value), conversation))
  })
}

export async function askPermission(): Promise<void> {
  permission.value = await Notification.requestPermission()
}

/** Called in the tab that leads. While one of the tabs has the focus, the user sees the page itself. */
async function notify(view: RealmView, message: ReceivedMessage): Promise<void> {
  const { isShown, isHeard } = noticeOf(view, message)
  if ((!isShown && !isHeard) || (await hasFocusedTab())) return
  if (isHeard && view.settings.notification_sound !== 'none') playTone()
  if (isShown && isSignedIn(view.ownId)) show(view, message)
}

/** False while the appliance is locked, after the sign-out, and while another account is signed in. */
const isSignedIn = (ownId: number): boolean => realm.value?.ownId === ownId

function closeUnless(mayStay: (one: ShownNotification) => boolean): void {
  for (const [tag, one] of shown) {
    if (mayStay(one)) continue
    shown.delete(tag)
    one.close()
  }
}

/** Returns the conversation of a reply that is sent. While the appliance is locked, the text waits in the conversation's draft. */
function reply(messageId: number, text: unknown): ConversationRef | null {
  const conversation = answerable.get(messageId)
  if (conversation === undefined || typeof text !== 'string' || text.trim() === '') return null
  if (realm.value !== null) {
    void send(conversation, text)
    return conversation
  }
  void appendToDraft(conversation, text)
  return null
}

function showCount(title: string, view: RealmView | null): void {
  const count = view === null ? 0 : unreadCount(view)
  if (title !== '') document.title = `${count > 0 ? `(${count}) ` : ''}${title} · ${words.product}`
  const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')
  // The desktop app looks for this name.
  if (icon !== null) icon.href = icon.href.replace(/#.*|$/, view && hasUnreadDirects(view) ? '#favicon-pms' : '')
  const iconUrl = String(view?.organization.icon_url ?? '')
  const now = JSON.stringify([view?.name, iconUrl, count])
  if (now === told) return
  told = now
  void navigator.setAppBadge?.(count).catch(() => {}) // not installed
  if (view !== null) tellDesktop(view.name, iconUrl, count)
}

function show(view: RealmView, message: ReceivedMessage): void {
  const conversation = conversationOf(message, view.ownId)
  const isHidden = message.type === 'private' && view.settings.pm_content_in_desktop_notifications === false
  const title = titleOf(message.sender_full_name, message.type === 'private' ? null : fullName(view, conversation))
  const body = isHidden ? words.newDirectMessage : messageText(message.content)
  const tag = tagOf(message.recipient_id, message.subject)
  const options = {
    body,
    tag,
    silent: true,
    ...(message.avatar_url && { icon: message.avatar_url }),
  }
  const { id: messageId } = message
  const { ownId } = view // the notification must not keep the state in memory after a lock
  const address = `${linkTo(view, conversation)}/near/${messageId}`
  const open = () => {
    if (!isSignedIn(ownId)) return
    window.focus()
    go(address)
  }
  const remember = (close: () => void) => shown.set(tag, { messageId, ownId, close })
  const forget = () => {
    if (shown.get(tag)?.messageId === messageId) shown.delete(tag)
  }
  const app = desktopApp()
  if (app !== undefined) {
    shown.get(tag)?.close()
    setAnswerable(messageId, conversation)
    // The app names the message of a reply by the tag, and so does not replace the earlier notification itself.
    const notification = app.new_notification(title, { ...options, tag: String(messageId) }, (type, data) => {
      if (type === 'click') open()
      if (type === 'close') forget()
      if (type === 'reply') reply(messageId, data)
      return true
    })
    remember(() => notification?.close?.())
    return
  }
  if (globalThis.Notification?.permission !== 'granted') return
  if (isPushed.value) {
    // The push of this message replaces the notification, or the other way round.
    const data: NoticeData = { messageId, address }
    navigator.serviceWorker.ready.then((worker) => worker.showNotification(title, { ...options, data })).catch(() => {}) // the permission was taken back
    return
  }
  try {
    const notification = new Notification(title, options)
    notification.onclose = forget
    notification.onclick = () => {
      notification.close()
      open()
    }
    remember(() => notification.close())
  } catch {
    // Chrome for Android shows notifications of service workers only.
  }
}

function setAnswerable(messageId: number, conversation: ConversationRef): void {
  answerable.set(messageId, conversation)
  for (const id of answerable.keys()) if (answerable.size > ANSWERABLE_MAX) answerable.delete(id)
}

/** Silent until the user has touched the page: browsers permit no sound before. */
function playTone(): void {
  const context = new AudioContext()
  const tone = context.createOscillator()
  const volume = context.createGain()
  tone.frequency.value = TONE_HZ
  volume.gain.setValueAtTime(LOUDNESS, context.currentTime)
  volume.gain.exponentialRampToValueAtTime(LOUDNESS / 100, context.currentTime + TONE_S)
  tone.connect(volume).connect(context.destination)
  tone.onended = () => void context.close()
  tone.start()
  tone.stop(context.currentTime + TONE_S)
}

/** Tells the other tabs, by a lock, that this one has the focus. */
async function holdFocus(): Promise<void> {
  if (!document.hasFocus()) return
  const lock = navigator.locks.request(
    FOCUS_LOCK,
    { steal: true },
    () => new Promise<void>((resolve) => addEventListener('blur', () => resolve(), { once: true })),
  )
  await lock.catch(() => {}) // another tab has the focus now
}

async function hasFocusedTab(): Promise<boolean> {
  const { held = [] } = await navigator.locks.query()
  return held.some(({ name }) => name === FOCUS_LOCK)
}
