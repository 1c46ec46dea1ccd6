/** Fetches messages at an end of a list before the user reaches it. */

import type { RefObject } from 'preact'
import { useRef } from 'preact/hooks'
import type { MessageList } from '../model/message-list.ts'

/**
 * Pages fetched since the user scrolled last. More than one, because one may not fill a high window, or was dropped. A bound, because
 * messages of very many elements may leave the list shorter than the window, however many are fetched.
 */
const PAGES_MAX = 3

interface FetchMore {
  afterScroll(): void
  /** Without it a list that is too short to be scrolled would stay short. */
  afterRender(): void
}

export function useFetchMore(
  scroller: RefObject<HTMLElement | null>,
  list: MessageList | null,
  signalOf: () => AbortSignal,
  fail: (error: unknown) => void,
): FetchMore {
  const pages = useRef(0)
  const fetchMore = () => {
    const box = scroller.current
    if (box === null || list === null || pages.current >= PAGES_MAX) return
    const signal = signalOf()
    const isNearStart = () => box.scrollTop < box.clientHeight
    const isNearEnd = () => box.scrollHeight - box.scrollTop - box.clientHeight < box.clientHeight
    const count = (isFetched: boolean) => {
      if (isFetched) pages.current++
    }
    const end = (error: unknown) => {
      if (signal.aborted) return
      pages.current = PAGES_MAX // the user tries again by scrolling
      fail(error)
    }
    if (isNearStart()) list.fetchOlder(signal, isNearStart).then(count, end)
    if (isNearEnd()) list.fetchNewer(signal, isNearEnd).then(count, end)
  }
  return {
    afterScroll: () => {
      pages.current = 0
      fetchMore()
    },
    afterRender: fetchMore,
  }
}
