/** Memory of request bodies: a bound for all of them, and a share for each user. Contract section 1.5. */

import { CofferError } from '../../base/error.ts'
import type { BodyLimits } from './body-rate.ts'

/** A reservation: memory counted against the bound of all bodies. */
export interface Held {
  /** Throws `busy` beyond the bound or the share of the user. */
  add(bytes: number): void
  release(): void
}

interface Share {
  bytes: number
  /** Bodies that count, oldest first. */
  readonly bodies: Set<Held>
}

/**
 * A user with more than one body may hold no more than is left free, so others always find room, and shares become equal as bodies end
 * (Choudhury and Hahne, "Dynamic queue length thresholds", 1998). A user's oldest body may take all that is left: one of the largest fits on
 * a small device, and a later body cannot end it.
 */
export function createReservations({ totalBytesMax, smallBytes }: BodyLimits) {
  const shares = new Map<string, Share>()
  let totalBytes = 0

  function shareOf(user: string): Share {
    const share = shares.get(user) ?? { bytes: 0, bodies: new Set() }
    shares.set(user, share)
    return share
  }

  /** A class, since closures would take as much memory of each request as a short body. */
  class Reservation implements Held {
    readonly #user: string
    #bytes = 0

    constructor(user: string) {
      this.#user = user
    }

    get #counted(): number {
      return Math.max(0, this.#bytes - smallBytes)
    }

    add(bytes: number): void {
      const before = this.#counted
      this.#bytes += bytes
      const more = this.#counted - before
      if (more === 0) return
      const share = shareOf(this.#user)
      share.bodies.add(this)
      share.bytes += more
      totalBytes += more
      const leftBytes = totalBytesMax - totalBytes
      const [oldest] = share.bodies
      if (leftBytes < 0 || (this !== oldest && share.bytes > leftBytes))
        throw new CofferError('busy', 'Too many large requests at once')
    }

    release(): void {
      const bytes = this.#counted
      this.#bytes = 0
      if (bytes === 0) return
      const share = shareOf(this.#user)
      share.bodies.delete(this)
      share.bytes -= bytes
      totalBytes -= bytes
      if (share.bodies.size === 0) shares.delete(this.#user)
    }
  }

  return { hold: (user: string): Held => new Reservation(user) }
}
