/** Keys of Zulip's web client. Most of them work outside of text fields; none works while a dialog or a menu is open. */

import { useLayoutEffect } from 'preact/hooks'
import {
  addressOfArea,
  type ConversationRef,
  DRAFTS,
  FEED,
  homeAddress,
  INBOX,
  keyOf,
  readPlace,
} from '../model/conversation.ts'
import { FOLLOWED, isMuted, type RealmView } from '../model/realm.ts'
import { linkTo, linkToChannel } from '../names.ts'
import { fragment, go } from '../place.ts'
import { boxWanted, filterWanted, openDialog } from '../wanted.ts'
import { words } from '../words/words.ts'
import { isAltKey, isControlKey } from './modifiers.ts'
import { focusNext, focusRow, moveToArea, scrollPage } from './move-focus.ts'

const FIELDS = 'input, textarea, select, dialog, [popover]'
/** Enter belongs to these. */
const PRESSED = 'a, button, summary'
/** Elsewhere arrows scroll what has the focus. */
const MOVED_BY_ARROWS = 'body, h1, article, .rows a, .rows button'
/** Elsewhere the browser scrolls by pages, but smoothly: inserted messages would end that before a page is complete. */
const MOVED_BY_PAGES = 'body, h1, .scroll-area, .scroll-area *'

/** Returns false if there was nothing to do: then the key scrolls, or does what else the browser does with it. */
type Act = (realm: RealmView) => unknown

/** While one of these is held down, it acts again and again; any other acts once. */
const REPEATED = new Set(['j', 'k', 'J', 'K', 'ArrowDown', 'ArrowUp', 'PageDown', 'PageUp'])

const ANYWHERE: Readonly<Record<string, Act>> = {
  '/': () => go(addressOfArea('search')),
  '*': () => go('#narrow/is/starred'),
  '?': () => open('shortcuts'),
  a: () => go(FEED),
  t: () => go(addressOfArea('recent')),
  I: () => go(INBOX),
  d: () => go(DRAFTS),
  P: () => go('#narrow/is/dm'),
  q: () => goToFilter(addressOfArea('channels')),
  w: () => goToFilter(addressOfArea('people')),
  x: () => go(addressOfArea('new-direct')),
  c: writeTopic,
  r: write,
  Enter: write,
  n: (realm) => goToUnread(realm, () => true),
  p: (realm) => goToUnread(realm, ({ kind }) => kind === 'direct'),
  N: (realm) => goToUnread(realm, (one) => realm.topicPolicies.get(keyOf(one))?.policy === FOLLOWED),
  M: () => document.querySelector<HTMLElement>(`main .title button[aria-label="${words.topicMenu}"]`)?.click(),
  Escape: goHome,
  Home: () => focusRow(0),
  End: () => focusRow(-1),
  G: () => focusRow(-1),
  j: () => focusNext(1),
  ArrowDown: () => focusNext(1),
  k: () => focusNext(-1),
  ArrowUp: () => focusNext(-1),
  J: () => scrollPage(1),
  K: () => scrollPage(-1),
  PageDown: () => scrollPage(1),
  PageUp: () => scrollPage(-1),
}

export function useShortcuts(realm: RealmView): void {
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { target } = event
      if (event.defaultPrevented || event.isComposing || !(target instanceof HTMLElement)) return
      if (document.querySelector('dialog[open], :popover-open') !== null) return
      const act = actOf(event, target)
      if (act === undefined) return
      const isLate = event.repeat && !REPEATED.has(event.key)
      if (isLate || act(realm) !== false) event.preventDefault()
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [realm])
}

function actOf(event: KeyboardEvent, target: HTMLElement): Act | undefined {
  const isControl = isControlKey(event)
  if (isAltKey(event)) return
  if (event.key === 'F6') return () => moveToArea(event.shiftKey)
  if (isControl && event.key === 'k') return () => open('switcher')
  // With Command, `[` goes back in browsers on a Mac.
  const key = isControl && !event.metaKey && event.key === '[' ? 'Escape' : event.key
  if (isControl && key !== 'Escape') return
  if (key === 'Escape' && target.matches('.compose textarea')) return () => focusRow(-1)
  if (target.closest(FIELDS) !== null) return
  if (key === 'Enter' && target.closest(PRESSED) !== null) return
  if (key.startsWith('Arrow') && !target.matches(MOVED_BY_ARROWS)) return
  if (key.startsWith('Page') && (event.shiftKey || !target.matches(MOVED_BY_PAGES))) return // with Shift it selects text
  return Object.hasOwn(ANYWHERE, key) ? ANYWHERE[key] : undefined
}

function open(dialog: typeof openDialog.value): void {
  openDialog.value = dialog
}

function write(): void {
  boxWanted.value = document.querySelector('.compose') !== null
}

/** In the channel that is open; else a channel is chosen first. */
function writeTopic(realm: RealmView): void {
  const place = readPlace(fragment.value, realm.ownId)
  const topic = place.view === 'conversation' && place.conversation.kind === 'topic' ? place.conversation : null
  const channelId = place.view === 'channel' ? place.channelId : topic?.channelId
  boxWanted.value = channelId !== undefined
  if (channelId === undefined) open('switcher')
  else go(linkToChannel(realm, channelId))
}

function goHome(realm: RealmView): void {
  if (realm.settings.web_escape_navigates_to_home_view !== false) go(homeAddress(realm.settings.web_home_view))
}

function goToFilter(address: string): void {
  filterWanted.value = true
  go(address)
}

function goToUnread(realm: RealmView, isWanted: (conversation: ConversationRef) => boolean): void {
  const place = readPlace(fragment.value, realm.ownId)
  const here = place.view === 'conversation' ? keyOf(place.conversation) : ''
  const next = realm.unread
    .groups()
    .map(({ conversation }) => conversation)
    .find((one) => !isMuted(realm, one) && keyOf(one) !== here && isWanted(one))
  if (next !== undefined) go(linkTo(realm, next))
}
