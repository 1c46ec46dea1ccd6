/** Starts TLS handshakes a few at a time. When hundreds of clients come back at once, requests on open connections run in between. */

import type { Socket } from 'node:net'

/** Per turn of the event loop. A full handshake takes about a millisecond of processor time. */
export const HANDSHAKES_A_TURN = 4

/** Sockets wait in order of arrival; their number is limited by that of connections. */
export function createHandshakes(start: (socket: Socket) => void): (socket: Socket) => void {
  const waiting = new Set<Socket>()
  let isPlanned = false

  function startSome(): void {
    isPlanned = false
    let left = HANDSHAKES_A_TURN
    for (const socket of waiting) {
      if (left === 0) break
      waiting.delete(socket)
      if (socket.destroyed) continue
      left--
      start(socket)
    }
    plan()
  }

  function plan(): void {
    if (isPlanned || waiting.size === 0) return
    isPlanned = true
    setImmediate(startSome)
  }

  return (socket) => {
    waiting.add(socket)
    plan()
  }
}
