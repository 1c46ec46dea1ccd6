/**
 * HMAC-SHA-256 (RFC 2104) of many short messages under one key: two calls of the runtime's hash each, and nothing that is made
 * for either. Opening a store of 100,000 records asks for as many.
 */

import { hash } from 'node:crypto'
import { wipe } from '../base/secret.ts'

const BLOCK_BYTES = 64
export const MAC_BYTES = 32
const MESSAGE_BYTES = 4096 // a longer one gets memory of its own

interface Mac {
  /** Of one part after the other: 32 bytes, four at once, valid until the next call. */
  of(first: Uint8Array, second?: Uint8Array): Int32Array
  /** Wipes the key. */
  close(): void
}

/** `key`: 32 bytes, read and not kept. */
export function createMac(key: Uint8Array): Mac {
  const inner = Buffer.alloc(BLOCK_BYTES + MESSAGE_BYTES)
  const outer = Buffer.alloc(BLOCK_BYTES + MAC_BYTES)
  const result = Buffer.from(new ArrayBuffer(MAC_BYTES))
  const words = new Int32Array(result.buffer)
  for (let at = 0; at < BLOCK_BYTES; at++) {
    const byte = key[at] ?? 0
    inner[at] = byte ^ 0x36
    outer[at] = byte ^ 0x5c
  }
  return {
    of(first, second) {
      const secondAt = BLOCK_BYTES + first.length
      const end = secondAt + (second?.length ?? 0)
      const message = end <= inner.length ? inner : Buffer.alloc(end)
      if (message !== inner) message.set(inner.subarray(0, BLOCK_BYTES))
      message.set(first, BLOCK_BYTES)
      if (second !== undefined) message.set(second, secondAt)
      outer.write(hash('sha256', message.subarray(0, end), 'binary'), BLOCK_BYTES, 'latin1')
      message.fill(0, message === inner ? BLOCK_BYTES : 0, end)
      result.write(hash('sha256', outer, 'binary'), 0, 'latin1')
      return words
    },
    close() {
      wipe(inner, outer, result)
    },
  }
}
