/** Marks a message as read after its end was visible for half a second in a focused tab, if the account's settings permit. */

import type { RefObject } from 'preact'
import { useEffect } from 'preact/hooks'
import { call } from '../api.ts'
import { isOffline, noteFailure } from '../connection.ts'
import type { MessageList } from '../model/message-list.ts'
import type { RealmView } from '../model/realm.ts'

const IN_SIGHT_MS = 500
const BATCH_MAX = 1000
/** Values of web_mark_read_on_scroll_policy. */
const NEVER = 3
const IN_CONVERSATIONS = 2

export function useMarkRead(scroller: RefObject<HTMLElement | null>, realm: RealmView, list: MessageList | null): void {
  useEffect(() => {
    if (list === null) return
    let before = new Set<number>()
    let isSending = false
    const look = () => {
      const policy = realm.settings.web_mark_read_on_scroll_policy
      const isOff = policy === NEVER || (policy === IN_CONVERSATIONS && list.source.conversation === null)
      if (!document.hasFocus() || isOff || isOffline.value) {
        before = new Set()
        return
      }
      const now = new Set(unreadInSight(scroller.current, realm))
      const read = [...now].filter((id) => before.has(id)).slice(0, BATCH_MAX)
      before = now
      if (read.length === 0 || isSending) return
      isSending = true
      call('POST', '/messages/flags', { messages: read, op: 'add', flag: 'read' })
        .catch(noteFailure)
        .finally(() => {
          isSending = false
        })
    }
    const timer = setInterval(look, IN_SIGHT_MS)
    return () => clearInterval(timer)
  }, [realm, list])
}

function* unreadInSight(box: HTMLElement | null, { unread }: RealmView): Generator<number> {
  if (box === null) return
  const { top, bottom } = box.getBoundingClientRect()
  for (const element of box.querySelectorAll<HTMLElement>('[data-id]')) {
    const end = element.getBoundingClientRect().bottom
    const id = Number(element.dataset.id)
    if (end > top && end <= bottom + 1 && unread.has(id)) yield id
  }
}
