/** Connections that stay open for another request, for a short while: RFC 9112 section 9.3. */

import type { Socket } from 'node:net'

export interface IdleConnections {
  /** The name says where connections lead. Null if none waits. */
  take(name: string): Socket | null
  /** Closes the one that waits for the longest time if there are too many. */
  put(name: string, stream: Socket): void
  /** Also closes those that are put later. */
  close(): void
}

const IDLE_MS = 10_000
const IDLE_MAX = 8 // as many notifications as the chat sends at once

interface Entry {
  readonly name: string
  /** Ends the wait. */
  readonly take: () => Socket
}

export function createIdleConnections(idleMs = IDLE_MS): IdleConnections {
  /** In the order of `put`. */
  const entries = new Set<Entry>()
  let isClosed = false

  function wait(name: string, stream: Socket): void {
    const close = () => void stream.destroy()
    const timer = setTimeout(close, idleMs).unref()
    const leave = () => {
      entries.delete(entry)
      clearTimeout(timer)
      stream.off('data', close).off('end', close).off('close', leave)
    }
    const take = () => {
      leave()
      return stream
    }
    const entry = { name, take }
    entries.add(entry)
    stream.on('data', close) // it would be read as the answer to the next request
    stream.on('end', close).on('close', leave)
  }

  return {
    take(name) {
      const entry = [...entries].findLast((one) => one.name === name)
      return entry?.take() ?? null
    },
    put(name, stream) {
      if (isClosed) return void stream.destroy()
      if (stream.destroyed) return
      wait(name, stream)
      const [oldest] = entries
      if (entries.size > IDLE_MAX) oldest?.take().destroy()
    },
    close() {
      isClosed = true
      for (const { take } of entries) take().destroy()
    },
  }
}
