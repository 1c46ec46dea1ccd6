/** Key bytes that persist between uses, stored twice to detect a changed bit. */

import { copySecret, newSecret, wipe } from '../../../base/secret.ts'
import { Fault } from '../fault.ts'

export class Kept {
  readonly bytes: Uint8Array
  readonly #twin: Uint8Array

  constructor(...parts: readonly Uint8Array[]) {
    this.bytes = newSecret(parts.reduce((length, part) => length + part.length, 0))
    let at = 0
    for (const part of parts) {
      this.bytes.set(part, at)
      at += part.length
    }
    this.#twin = copySecret(this.bytes)
  }

  /** Runs `work` with the bytes. Throws `Fault` if the bytes have changed, since a wrong signature can reveal the key. */
  use<T>(work: (bytes: Uint8Array) => T): T {
    const result = work(this.bytes)
    let difference = 0
    for (let i = 0; i < this.bytes.length; i++) difference |= this.bytes[i]! ^ this.#twin[i]!
    if (difference !== 0) throw new Fault('a key has changed in memory')
    return result
  }

  wipe(): void {
    wipe(this.bytes, this.#twin)
  }
}
