/**
 * Encodes values for transfer between threads as a flat list of fields: cloning objects costs several times as much as the
 * transfer. Short byte arrays share one buffer, long ones have buffers of their own. Buffers are moved, not copied, so that no
 * copy stays behind.
 */

import { copySecret, newSecret, ownsMemory, wipe, wipeAndFree } from '../../base/secret.ts'

export interface MessageBatch {
  /** A byte array inside `bytes` is represented by its length. */
  fields: unknown[]
  bytes: Uint8Array<ArrayBuffer>
}

const SHORT_MAX = 4096 // bytes; moving a shorter array costs more than copying it

export class Packer {
  readonly #fields: unknown[] = []
  readonly #short: Uint8Array[] = []
  readonly #long: ArrayBuffer[] = []
  #length = 0

  add(...fields: unknown[]): void {
    this.#fields.push(...fields)
  }

  /** Takes ownership of the array: it is moved, or copied and wiped. */
  addBytes(bytes: Uint8Array | undefined): void {
    if (bytes === undefined || bytes.length > SHORT_MAX) {
      const field = bytes && alone(bytes)
      this.#fields.push(field)
      if (field !== undefined) this.#long.push(field.buffer)
    } else {
      this.#fields.push(bytes.length)
      this.#short.push(bytes)
      this.#length += bytes.length
    }
  }

  /** Returns the added values and the buffers to transfer. Call it once. */
  close(): [batch: MessageBatch, moved: ArrayBuffer[]] {
    const bytes = newSecret(this.#length)
    let at = 0
    for (const part of this.#short) {
      bytes.set(part, at)
      at += part.length
      wipeAndFree(part)
    }
    return [{ fields: this.#fields, bytes }, [bytes.buffer, ...this.#long]]
  }
}

/** Reads the values in the order in which they were added. */
export class Unpacker {
  readonly #batch: MessageBatch
  #field = 0
  #byte = 0

  constructor(batch: MessageBatch) {
    this.#batch = batch
  }

  get isEmpty(): boolean {
    return this.#field === this.#batch.fields.length
  }

  take(): unknown {
    return this.#batch.fields[this.#field++]
  }

  /** Short arrays are views of the batch's memory. */
  takeBytes(): Uint8Array | undefined {
    const field = this.take() as number | Uint8Array | undefined
    if (typeof field !== 'number') return field
    const start = this.#byte
    this.#byte += field
    return this.#batch.bytes.subarray(start, this.#byte)
  }
}

/** Returns the bytes in a buffer of their own. If it copies, wipes the original. */
function alone(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  if (ownsMemory(bytes)) return new Uint8Array(bytes.buffer)
  const copy = copySecret(bytes)
  wipe(bytes)
  return copy
}
