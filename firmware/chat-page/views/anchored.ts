/**
 * Keeps messages in sight in place when others are added, removed or change their height around them. At the end of the list,
 * follows new messages.
 */

import { type ReadonlySignal, useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useRef } from 'preact/hooks'
import type { MessageList } from '../model/message-list.ts'

export interface Anchored {
  readonly isAtEnd: ReadonlySignal<boolean>
  /** Scrolls to the message once the list is rendered; null scrolls to the end. */
  place(id: number | null): void
  toEnd(): void
  /** Call it before a render changes the list. */
  hold(): void
  /** Call it after each render, and after changes of height that no render causes. */
  keep(): void
  /** Call it on events of scrolling. Returns true if the user has scrolled since the last call. */
  note(): boolean
}

/** Messages in sight, and their places. */
interface Sight {
  readonly scrollTop: number
  /** The greatest scrollTop. */
  readonly scrollMax: number
  readonly isAtEnd: boolean
  /** The first one is the best anchor. */
  readonly messages: readonly { id: number; top: number }[]
}

const END_PX = 40 // within this distance the user reads the newest messages
const TOP_PX = 72 // top of the first unread message: leaves the one before it visible

export function useAnchored(scroller: RefObject<HTMLElement | null>, list: MessageList | null): Anchored {
  const isAtEnd = useSignal(true)
  const sight = useRef<Sight>({ scrollTop: 0, scrollMax: 0, isAtEnd: true, messages: [] })
  const wanted = useRef<number | null | undefined>(undefined)
  /** True if the newest message is rendered. */
  const showsNewest = useRef(true)
  const hasScrolled = useRef(false)

  const elementOf = (id: number): HTMLElement | null =>
    scroller.current?.querySelector<HTMLElement>(`[data-id="${id}"]`) ?? null

  /** `offBy`: what the last correction has left, so that its rounding does not add up. */
  const remember = (box: HTMLElement, offBy = 0) => {
    const view = box.getBoundingClientRect()
    const messages: { id: number; top: number }[] = []
    for (const element of box.querySelectorAll<HTMLElement>('[data-id]')) {
      const { top, bottom } = element.getBoundingClientRect()
      if (bottom <= view.top) continue
      if (top >= view.bottom) break
      messages.push({ id: Number(element.dataset.id), top: topOf(element, view.top) - offBy })
    }
    // One that begins in sight: the height of another one may change above the view.
    const first = messages.findIndex(({ top }) => top >= 0)
    const scrollMax = box.scrollHeight - box.clientHeight
    sight.current = {
      ...{ scrollTop: box.scrollTop, scrollMax },
      isAtEnd: showsNewest.current && scrollMax - box.scrollTop < END_PX,
      messages: first <= 0 ? messages : [...messages.slice(first), ...messages.slice(0, first)],
    }
  }

  /** `byUser`: distance by which the user has scrolled since `remember`. Returns the part of a pixel that the browser rounds away. */
  const correct = (box: HTMLElement, byUser: number): number => {
    const { messages, isAtEnd, scrollMax } = sight.current
    if (isAtEnd && list?.hasNewest && byUser >= 0) {
      if (box.scrollHeight - box.clientHeight !== scrollMax) box.scrollTop = box.scrollHeight
      return 0
    }
    for (const { id, top } of messages) {
      const element = elementOf(id)
      if (element === null) continue
      const by = topOf(element, box.getBoundingClientRect().top) - (top - byUser)
      if (by === 0) return 0
      const before = box.scrollTop
      box.scrollTop += by
      const left = by - (box.scrollTop - before)
      return Math.abs(left) < 1 ? left : 0 // more at the ends of the list
    }
    return 0
  }

  const hold = () => {
    const box = scroller.current
    if (box === null) return
    const byUser = box.scrollTop - sight.current.scrollTop
    if (byUser !== 0) hasScrolled.current = true
    remember(box, correct(box, byUser))
  }
  return {
    isAtEnd,
    place: (id) => {
      wanted.current = id
    },
    toEnd: () => {
      const box = scroller.current
      if (box === null) return
      box.scrollTop = box.scrollHeight
      remember(box)
      isAtEnd.value = true
    },
    hold,
    keep: () => {
      const box = scroller.current
      if (box === null || list === null) return
      let offBy = 0
      if (wanted.current !== undefined) {
        const target = wanted.current === null ? null : elementOf(wanted.current)
        const { top } = box.getBoundingClientRect()
        box.scrollTop =
          target === null ? box.scrollHeight : box.scrollTop + target.getBoundingClientRect().top - top - TOP_PX
        wanted.current = undefined
      } else offBy = correct(box, 0) // the browser may have moved a view that is now too short
      showsNewest.current = list.hasNewest
      remember(box, offBy)
      isAtEnd.value = sight.current.isAtEnd
    },
    note: () => {
      hold()
      isAtEnd.value = sight.current.isAtEnd
      const isByUser = hasScrolled.current
      hasScrolled.current = false
      return isByUser
    },
  }
}

/**
 * Distance from the top of the view to the content of a message. The sender's name above it comes and goes with the message before.
 */
const topOf = (message: HTMLElement, viewTop: number): number =>
  (message.querySelector('.body > :not(.by)') ?? message).getBoundingClientRect().top - viewTop
