/** Answers that wait for clients to take them: together no more than so much memory, whoever reads how slowly. */

import type { ServerResponse } from 'node:http'

const SMALL_BYTES = 64 * 1024 // is not counted: what a connection costs anyway

/** Called with each answer that comes in one piece, as it is given out. When all wait for too much, the oldest is cut off. */
export type WatchUnsent = (answer: ServerResponse, bytes: number) => void

export function createUnsentWatch(bytesMax: number): WatchUnsent {
  const waiting = new Map<ServerResponse, number>() // in the order in which they were given out
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
