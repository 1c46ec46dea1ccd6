/** HMAC-SHA-256 (RFC 2104) of short secrets under one key, on the way of every request: no object is made for it. */

import { hash } from 'node:crypto'

const BLOCK_BYTES = 64
const HASH_BYTES = 32
const INNER = 0x36
const OUTER = 0x5c
const MESSAGE_BYTES = 1024 // longer ones get memory of their own

export class KeyedHash {
  /** The padded key, and room for what follows it. */
  readonly #inner: Buffer<ArrayBuffer>
  readonly #outer: Buffer<ArrayBuffer>

  /** The key has 64 bytes at most and stays the caller's. */
  constructor(key: Uint8Array) {
    this.#inner = padded(key, INNER, MESSAGE_BYTES)
    this.#outer = padded(key, OUTER, HASH_BYTES)
  }

  digest(...parts: readonly Uint8Array[]): Uint8Array {
    let end = BLOCK_BYTES
    for (const part of parts) end += part.length
    const message = end <= this.#inner.length ? this.#inner : Buffer.alloc(end)
    try {
      if (message !== this.#inner) message.set(this.#inner.subarray(0, BLOCK_BYTES))
      let at = BLOCK_BYTES
      for (const part of parts) {
        message.set(part, at)
        at += part.length
      }
      this.#outer.set(hash('sha256', message.subarray(0, end), 'buffer'), BLOCK_BYTES)
      return hash('sha256', this.#outer, 'buffer')
    } finally {
      message.fill(0, message === this.#inner ? BLOCK_BYTES : 0, end)
    }
  }

  wipe(): void {
    this.#inner.fill(0)
    this.#outer.fill(0)
  }
}

function padded(key: Uint8Array, pad: number, roomBytes: number): Buffer<ArrayBuffer> {
  const block = Buffer.alloc(BLOCK_BYTES + roomBytes)
  for (let i = 0; i < BLOCK_BYTES; i++) block[i] = (key[i] ?? 0) ^ pad
  return block
}
