/** Bounds of time and number for connections and the requests on them. Contract section 1.5. */

import type { PipeliningLimits } from './pipelining.ts'

export interface ListenerLimits extends PipeliningLimits {
  /** From the start of a connection or request to the end of its headers. */
  headersMs: number
  handshakeMs: number
  keepAliveMs: number
  /** A client that neither takes its answer nor sends what it announced is cut off after this. */
  stallMs: number
  /** A body nobody wants is discarded so that the client can finish and read its answer: at most so long, so much. */
  drainMs: number
  drainBytesMax: number
  /** Or as many as there are descriptors for. */
  connectionsMax: number
  /** Running requests may take this long when the listener closes. */
  closeMs: number
}

export const LISTENER_LIMITS: ListenerLimits = {
  headersMs: 10_000,
  handshakeMs: 10_000,
  keepAliveMs: 75_000,
  stallMs: 30_000,
  drainMs: 60_000,
  drainBytesMax: 80 * 1024 * 1024, // the largest body an endpoint takes, encoded, and some
  connectionsMax: 4096, // load generators keep 2000 open
  closeMs: 10_000,
  waitingMax: 32,
  waitingTotalMax: 4096, // some 20 MB
}
