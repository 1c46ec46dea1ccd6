/** Messages by their time. There is no index: ids ascend with it, but where somebody has set the clock back. */

import type { ChatStore } from './store.ts'

/** The first message of all at or after `time`, in seconds, found by halving; null where there is none. */
export function firstIdAt(store: ChatStore, time: number): number | null {
  const atOrAfter = (id: number) =>
    store.select<{ id: number; time: number }>('SELECT id, time FROM messages WHERE id >= ? ORDER BY id LIMIT 1', [
      id,
    ])[0]
  let from = 0 // before it, all are older
  let to = store.messages.maxId() + 1 // at it and behind it, none is older
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
