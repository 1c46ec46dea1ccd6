/** Bounds of time and number for connections and the requests on them. Contract section 1.5. */

import { MIB, memoryFor } from '../../base/memory.ts'
import type { PipeliningLimits } from './pipelining.ts'

export interface ListenerLimits extends PipeliningLimits {
  /** From the start of a connection or request to the end of its headers. */
  headersMs: number
  handshakeMs: number
  keepAliveMs: number
  /** A client that neither takes its answer nor sends what it announced is cut off after this. */
  stallMs: number
  /**
   * An unwanted body is discarded so that the client can finish and read its answer: for so long, and longer at this rate
   * or more; at most so much, or the largest body that the endpoint takes.
   */
  drainMs: number
  drainBytesPerSecondMin: number
  drainBytesMax: number
  /** Answers that clients have not taken yet, all together. */
  unsentBytesMax: number
  /** Or as many as there are descriptors for. */
  connectionsMax: number
  /** Running requests may take this long when the listener closes. */
  closeMs: number
}

const CONNECTION_BYTES = 64 * 1024 // with its TLS session

export const LISTENER_LIMITS: ListenerLimits = {
  headersMs: 10_000,
  handshakeMs: 10_000,
  keepAliveMs: 75_000,
  stallMs: 30_000,
  drainMs: 60_000,
  drainBytesPerSecondMin: 256 * 1024, // an update over a slow line takes half an hour
  drainBytesMax: 80 * MIB, // the largest body that is held in memory, encoded, and some
  // 4096, for load generators keep 2000 open; on a device of 512 MB some 700
  connectionsMax: Math.floor(memoryFor(1 / 4, 32 * MIB, 256 * MIB) / CONNECTION_BYTES),
  unsentBytesMax: memoryFor(1 / 4, 32 * MIB, 256 * MIB),
  closeMs: 10_000,
  waitingMax: 32,
  waitingTotalMax: 4096, // some 20 MB
}
