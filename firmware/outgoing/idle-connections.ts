/** Connections that stay open for another request, for a short while: RFC 9112 section 9.3. */

import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'

export interface KeptConnection {
  readonly stream: Socket
  readonly origin: string
  /** Where it leads; undefined through a proxy. */
  readonly address: string | undefined
  /** Time of a monotonic clock. */
  readonly connectedMs: number
}

export interface IdleConnections {
  /** Takes one that leads to the origin, at one of the addresses or through a proxy. Null if none waits. */
  take(origin: string, addresses: readonly string[]): Promise<KeptConnection | null>
  /** Closes the one that waits for the longest time if there are too many, and this one if it is too old. */
  put(connection: KeptConnection): Promise<void>
  /** Also closes those that are put later. */
  close(): void
}

const IDLE_MS = 10_000
const IDLE_MAX = 8 // as many notifications as the chat sends at once
const AGE_MS_MAX = 300_000 // so that a certificate that has expired meanwhile is noticed

interface Entry extends KeptConnection {
  /** Ends the wait, but not the watch. */
  readonly leave: () => void
  readonly close: () => void
  readonly unwatch: () => void
}

export function createIdleConnections(idleMs = IDLE_MS): IdleConnections {
  /** In the order of `put`. */
  const entries = new Set<Entry>()
  let isClosed = false

  function wait(connection: KeptConnection, unwatch: () => void): void {
    const { stream } = connection
    const leave = () => {
      entries.delete(entry)
      clearTimeout(timer)
      stream.off('close', leave)
    }
    const close = () => {
      leave()
      stream.destroy()
    }
    const timer = setTimeout(close, idleMs).unref()
    const entry: Entry = { ...connection, leave, close, unwatch }
    entries.add(entry)
    stream.on('close', leave)
  }

  return {
    async take(origin, addresses) {
      for (;;) {
        const entry = [...entries].findLast(
          (one) => one.origin === origin && (one.address === undefined || addresses.includes(one.address)),
        )
        if (entry === undefined) return null
        entry.leave()
        await nextTurn() // bytes and an end that have arrived already are seen before
        entry.unwatch()
        if (isClosed) entry.stream.destroy()
        const { stream, address, connectedMs } = entry
        if (!stream.destroyed) return { stream, origin, address, connectedMs }
      }
    },
    async put(connection) {
      const { stream, connectedMs } = connection
      const unwatch = closeAtBytes(stream)
      await nextTurn() // as above
      if (isClosed || performance.now() - connectedMs >= AGE_MS_MAX) stream.destroy()
      if (stream.destroyed) return
      wait(connection, unwatch)
      const [oldest] = entries
      if (entries.size > IDLE_MAX) oldest?.close()
    },
    close() {
      isClosed = true
      for (const { close } of entries) close()
    },
  }
}

/** Bytes that nobody asked for would be read as the answer to the next request. */
function closeAtBytes(stream: Socket): () => void {
  const close = () => void stream.destroy()
  stream.on('data', close).on('end', close)
  return () => void stream.off('data', close).off('end', close)
}
