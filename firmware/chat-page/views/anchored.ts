/** Keeps visible messages in place when others are added or removed around them. At the end of the list, follows new messages. */

import { type ReadonlySignal, useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useRef } from 'preact/hooks'
import type { MessageList } from '../model/message-list.ts'

export interface Anchored {
  readonly isAtEnd: ReadonlySignal<boolean>
  /** Scrolls to the message once the list is rendered; null scrolls to the end. */
  place(id: number | null): void
  toEnd(): void
  /** Call it after scrolling. */
  note(): void
  /** Call it after each render. */
  keep(): void
}

const END_PX = 40 // within this distance the user reads the newest messages
const TOP_PX = 72 // top of the first unread message: leaves the one before it visible

export function useAnchored(scroller: RefObject<HTMLElement | null>, list: MessageList | null): Anchored {
  const isAtEnd = useSignal(true)
  const first = useRef<{ id: number; top: number } | null>(null)
  const wanted = useRef<number | null | undefined>(undefined)

  const elementOf = (id: number): HTMLElement | null =>
    scroller.current?.querySelector<HTMLElement>(`[data-id="${id}"]`) ?? null
  const topOf = (element: HTMLElement): number =>
    element.getBoundingClientRect().top - scroller.current!.getBoundingClientRect().top

  const remember = () => {
    const box = scroller.current
    if (box === null) return
    const inSight = [...box.querySelectorAll<HTMLElement>('[data-id]')].find(
      (element) => topOf(element) + element.offsetHeight > 0,
    )
    first.current = inSight === undefined ? null : { id: Number(inSight.dataset.id), top: topOf(inSight) }
  }
  const note = () => {
    const box = scroller.current
    if (box === null) return
    isAtEnd.value = list?.hasNewest !== false && box.scrollHeight - box.scrollTop - box.clientHeight < END_PX
    remember()
  }
  return {
    isAtEnd,
    place: (id) => {
      wanted.current = id
    },
    toEnd: () => {
      wanted.current = null
      const box = scroller.current
      if (box !== null) box.scrollTop = box.scrollHeight
      isAtEnd.value = true
    },
    note,
    keep: () => {
      const box = scroller.current
      if (box === null || list === null) return
      if (wanted.current !== undefined) {
        const target = wanted.current === null ? null : elementOf(wanted.current)
        box.scrollTop = target === null ? box.scrollHeight : box.scrollTop + topOf(target) - TOP_PX
        wanted.current = undefined
        note()
      } else if (isAtEnd.value && list.hasNewest) {
        box.scrollTop = box.scrollHeight
        remember()
      } else if (first.current !== null) {
        const element = elementOf(first.current.id)
        if (element !== null) box.scrollTop += topOf(element) - first.current.top
      }
    },
  }
}
