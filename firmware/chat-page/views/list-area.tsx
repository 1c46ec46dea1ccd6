/** A list of messages that scrolls: it is opened, kept in place, continued at both ends, and marked as read. */

import { type ReadonlySignal, useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { Action } from '../../web/controls.tsx'
import { CallRefused } from '../api.ts'
import { changed, keepOpened, noteFailure, STORED_AFTER_MS } from '../connection.ts'
import { createMessageList, type ListSource, type MessageList, NEWEST } from '../model/message-list.ts'
import type { RealmView } from '../model/realm.ts'
import { readStoredMessages } from '../offline.ts'
import type { OutboxMessage } from '../outbox.ts'
import { words } from '../words/words.ts'
import { type Anchored, useAnchored } from './anchored.ts'
import { useFetchMore } from './fetch-more.ts'
import { useMarkRead } from './mark-read.ts'
import { Messages } from './messages.tsx'
import { Problem } from './problem.tsx'

interface OpenList {
  /** Null until it is loaded. */
  readonly list: MessageList | null
  readonly failure: ReadonlySignal<unknown>
  readonly scroller: RefObject<HTMLElement | null>
  readonly anchored: Anchored
  reopen(): void
  toNewest(): void
  onScroll(): void
}

/** Opens at the message `near`, else at the first unread one, else at the newest. */
export function useList(realm: RealmView, source: ListSource, near: number | null): OpenList {
  const opened = useSignal<MessageList | null>(null)
  const failure = useSignal<unknown>(null)
  const scroller = useRef<HTMLElement>(null)
  const list = opened.value
  const anchored = useAnchored(scroller, list)
  anchored.hold()
  useMarkRead(scroller, realm, list)
  const keep = useRef(anchored.keep)
  keep.current = anchored.keep
  const controller = useRef(new AbortController())
  const fail = (error: unknown) => {
    noteFailure(error)
    failure.value = error
  }
  const stored = useRef<MessageList | null>(null)
  /** The account may no longer read what the server has refused. */
  const closeStored = () => {
    if (opened.value === stored.current) opened.value = null
  }
  const open = (at: number | null) => {
    controller.current.abort()
    controller.current = new AbortController()
    const { signal } = controller.current
    const next = createMessageList(source, realm.ownId, changed)
    failure.value = null
    realm.lists.add(next) // before the fetch: no event may be missed
    signal.addEventListener('abort', () => realm.lists.delete(next))
    const timer = setTimeout(() => void openStored(signal), STORED_AFTER_MS)
    next
      .open(at, signal)
      .finally(() => clearTimeout(timer))
      .then(
        () => {
          if (signal.aborted) return
          anchored.place(at ?? next.firstUnread)
          opened.value = next
          if (source.conversation !== null && next.hasNewest) keepOpened(source.conversation, next.messages)
        },
        (error: unknown) => {
          realm.lists.delete(next)
          if (signal.aborted) return
          fail(error)
          if (error instanceof CallRefused) closeStored()
          else void openStored(signal)
        },
      )
  }
  /** Shows the messages that this device has stored, until the server answers. */
  const openStored = async (signal: AbortSignal) => {
    const messages = source.conversation && (await readStoredMessages(source.conversation).catch(() => null))
    if (messages === null || opened.value !== null || signal.aborted || failure.value instanceof CallRefused) return
    const next = createMessageList(source, realm.ownId, changed)
    next.take(messages)
    realm.lists.add(next)
    signal.addEventListener('abort', () => realm.lists.delete(next))
    anchored.place(near ?? next.firstUnread)
    stored.current = next
    opened.value = next
  }
  useEffect(() => {
    open(near)
    return () => controller.current.abort()
  }, [realm, source.key, near])
  const more = useFetchMore(scroller, list, () => controller.current.signal, fail)
  useLayoutEffect(() => {
    anchored.keep()
    more.afterRender()
  })
  // Some changes of height no render causes, such as that of a spoiler. The observer runs before the next frame is painted.
  useEffect(() => {
    const rows = scroller.current?.querySelector('ol')
    if (!rows) return
    const observer = new ResizeObserver(() => keep.current())
    observer.observe(rows)
    if (scroller.current !== null) observer.observe(scroller.current)
    return () => observer.disconnect()
  }, [list, list?.messages.length === 0])
  return {
    ...{ list, failure, scroller, anchored },
    reopen: () => open(near),
    toNewest: () => (list?.hasNewest ? anchored.toEnd() : open(NEWEST)),
    onScroll: () => {
      if (anchored.note()) more.afterScroll()
    },
  }
}

export function ListArea(props: {
  realm: RealmView
  open: OpenList
  near: number | null
  pending: readonly OutboxMessage[]
  newer: number
}) {
  const { realm, open, near, pending, newer } = props
  const { list, failure, scroller, anchored, reopen, toNewest, onScroll } = open
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard */}
      <section class="scroll-area" ref={scroller} onScroll={onScroll} tabIndex={0} aria-label={words.messages}>
        <Problem error={failure.value} also={<Action onClick={reopen}>{words.again}</Action>} />
        {list === null && !failure.value && <p class="hint">{words.loading}</p>}
        {list !== null && <Messages realm={realm} list={list} near={near} pending={pending} />}
      </section>
      {list !== null && !anchored.isAtEnd.value && (
        <div class="to-newest">
          <Action kind="small" onClick={toNewest}>
            {words.toNewest(newer)}
          </Action>
        </div>
      )}
    </>
  )
}
