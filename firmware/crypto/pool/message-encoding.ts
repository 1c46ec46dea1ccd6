/**
 * How values travel between threads: fields in a row, for to take objects apart and put them together again costs several
 * times as much as the crossing; short byte arrays in one piece of memory, long ones each in its own. That memory is moved
 * and not copied, so that nothing of it stays behind.
 */

import { copySecret, newSecret, ownsMemory, wipe, wipeAndFree } from '../../base/secret.ts'

export interface MessageBatch {
  /** A byte array stands as its length where it is part of `bytes`. */
  fields: unknown[]
  bytes: Uint8Array<ArrayBuffer>
}

const SHORT_MAX = 4096 // bytes; moving as little as that costs more than copying it

export class Packer {
  readonly #fields: unknown[] = []
  readonly #short: Uint8Array[] = []
  readonly #long: ArrayBuffer[] = []
  #length = 0

  add(...fields: unknown[]): void {
    this.#fields.push(...fields)
  }

  /** Takes the array over: what is not moved is wiped. */
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

  /** What was added, and the memory to move along with it. To be called once. */
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

/** Reads what was added in the same order. */
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

  /** Short ones lie in the batch's memory. */
  takeBytes(): Uint8Array | undefined {
    const field = this.take() as number | Uint8Array | undefined
    if (typeof field !== 'number') return field
    const start = this.#byte
    this.#byte += field
    return this.#batch.bytes.subarray(start, this.#byte)
  }
}

/** The bytes in a buffer of their own; a copied original is wiped. */
function alone(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  if (ownsMemory(bytes)) return new Uint8Array(bytes.buffer)
  const copy = copySecret(bytes)
  wipe(bytes)
  return copy
}
