/** Time and number limits of connections and their requests. Contract section 1.5. */

import { MIB, memoryFor } from '../../base/memory.ts'
import type { PipeliningLimits } from './pipelining.ts'

export interface ListenerLimits extends PipeliningLimits {
  /** From the start of a connection or request to the end of its headers. */
  headersMs: number
  /** From the start of a connection to the end of its TLS handshake, without the time in which this thread is busy with others. */
  handshakeMs: number
  keepAliveMs: number
  /** Ends a connection whose client neither reads its answer nor sends its request. */
  stallMs: number
  /**
   * A refused body is discarded, so that the client can finish sending and read its answer. This lasts for `drainMs`, or longer at the
   * minimum rate, and up to `drainBytesMax` or the endpoint's largest body.
   */
  drainMs: number
  drainBytesPerSecondMin: number
  drainBytesMax: number
  unsentBytesMax: number
  /** Further limited by the available descriptors. */
  connectionsMax: number
  closeMs: number
}

const CONNECTION_BYTES = 64 * 1024 // with the TLS session

export const LISTENER_LIMITS: ListenerLimits = {
  headersMs: 10_000,
  handshakeMs: 30_000, // a busy computer with 500 clients has needed more than 10 s; idle connections may stay longer
  keepAliveMs: 75_000,
  stallMs: 30_000,
  drainMs: 60_000,
  drainBytesPerSecondMin: 256 * 1024, // half an hour for an update
  drainBytesMax: 80 * MIB, // the largest body held in memory, encoded, plus some reserve
  // 4096, since load generators keep 2000 connections open; about 700 on a device with 512 MB.
  connectionsMax: Math.floor(memoryFor(1 / 4, 32 * MIB, 256 * MIB) / CONNECTION_BYTES),
  unsentBytesMax: memoryFor(1 / 4, 32 * MIB, 256 * MIB),
  closeMs: 10_000,
  waitingMax: 32,
  waitingTotalMax: 4096, // about 20 MB
}
