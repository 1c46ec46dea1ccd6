/** Key bytes that stay in memory from one use to the next, twice: a bit that has changed in one of them shows. */

import { copySecret, newSecret, wipe } from '../../../base/secret.ts'
import { Fault } from '../fault.ts'

export class Kept {
  readonly bytes: Uint8Array
  readonly #twin: Uint8Array

  /** Copies the parts, one after the other. */
  constructor(...parts: readonly Uint8Array[]) {
    this.bytes = newSecret(parts.reduce((length, part) => length + part.length, 0))
    let at = 0
    for (const part of parts) {
      this.bytes.set(part, at)
      at += part.length
    }
    this.#twin = copySecret(this.bytes)
  }

  /** Runs `work` with the bytes; throws when they are not what they were, for a wrong signature can give the key away. */
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
