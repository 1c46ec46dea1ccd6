/**
 * The version of a list, of which the etags of `GET /keys` and `GET /users` are made. It changes whenever a member is added, changed or
 * removed, and is equal for equal members, even after a restart: the XOR of hashes of each member's id and change number.
 */

export class ListVersion {
  #high = 0
  #low = 0

  /** Adds or removes a member; two calls cancel out. */
  toggle(id: string, n: number): void {
    let high = 0x9e3779b9 ^ n
    let low = 0x85ebca6b ^ (n / 2 ** 32)
    for (let at = 0; at < id.length; at++) {
      const code = id.charCodeAt(at)
      high = Math.imul(high ^ code, 0x01000193)
      low = Math.imul(low ^ code, 0x5bd1e995)
    }
    this.#high ^= mixed(high ^ (low >>> 15))
    this.#low ^= mixed(low ^ (high >>> 13))
  }

  get isEmpty(): boolean {
    return this.#high === 0 && this.#low === 0
  }

  toString(): string {
    return `${(this.#high >>> 0).toString(36)}-${(this.#low >>> 0).toString(36)}`
  }
}

/** Spreads each bit over all others: the finalizer of MurmurHash3. */
function mixed(bits: number): number {
  let hash = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}
