/** Finds messages by time. There is no index: times ascend with ids, except after the clock was set back. */

import type { ChatStore } from './store.ts'

/** Returns the first message at or after `time`, in seconds, by binary search. Null if there is none. */
export function firstIdAt(store: ChatStore, time: number): number | null {
  const atOrAfter = (id: number) =>
    store.select<{ id: number; time: number }>('SELECT id, time FROM messages WHERE id >= ? ORDER BY id LIMIT 1', [
      id,
    ])[0]
  let from = 0 // all messages before it are older
  let to = store.messages.maxId() + 1 // no message from here on is older
  let first: number | null = null
  while (from < to) {
    const middle = Math.floor((from + to) / 2)
    const message = atOrAfter(middle)
    if (message === undefined) to = middle
    else if (message.time >= time) {
      first = message.id
      to = middle
    } else from = message.id + 1
  }
  return first
}
