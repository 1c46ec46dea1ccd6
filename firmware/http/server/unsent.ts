/** Bounds the total memory of answers that clients have not read yet. */

import type { ServerResponse } from 'node:http'

const SMALL_BYTES = 64 * 1024 // not counted; a connection costs this much anyway

/** Called when a complete answer is handed to the socket. Beyond the bound, the oldest unread answer is cut off. */
export type WatchUnsent = (answer: ServerResponse, bytes: number) => void

export function createUnsentWatch(bytesMax: number): WatchUnsent {
  const waiting = new Map<ServerResponse, number>() // oldest first
  let totalBytes = 0

  function forget(answer: ServerResponse): void {
    totalBytes -= waiting.get(answer) ?? 0
    waiting.delete(answer)
  }

  return (answer, bytes) => {
    if (bytes <= SMALL_BYTES || answer.closed) return
    waiting.set(answer, bytes)
    totalBytes += bytes
    answer.once('close', () => forget(answer))
    for (const oldest of waiting.keys()) {
      if (totalBytes <= bytesMax || oldest === answer) return
      forget(oldest)
      oldest.destroy()
    }
  }
}
