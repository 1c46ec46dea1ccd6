/** Lines of the audit log that wait to be written, and who waits for that. */

import type { AuditLineKind } from './chain.ts'
import type { WaitingLine } from './state.ts'

/** While the disk refuses lines, about 5 MB of them wait, then keys cannot be used any more. */
const LINES_MAX = 10_000

interface Pending {
  readonly lines: readonly WaitingLine[]
  /** Uses of keys among them. */
  readonly uses: number
  readonly isFull: boolean
  readonly isAwaited: boolean
  add(kind: AuditLineKind, text: string): void
  /** Resolves when everything that waits now is on the disk; throws what kept it from there. */
  settled(): Promise<void>
  written(): void
  /** It could not be written, and waits on; those who waited hear why. */
  failed(error: unknown): void
}

export function createPending(): Pending {
  let lines: WaitingLine[] = []
  let uses = 0
  let waiters: PromiseWithResolvers<void>[] = []

  const takeWaiters = () => {
    const taken = waiters
    waiters = []
    return taken
  }

  return {
    get lines() {
      return lines
    },
    get uses() {
      return uses
    },
    get isFull() {
      return lines.length >= LINES_MAX
    },
    get isAwaited() {
      return waiters.length > 0
    },
    add(kind, text) {
      lines.push({ kind, text })
      if (kind === 'use') uses++
    },
    settled() {
      const waiter = Promise.withResolvers<void>()
      waiters.push(waiter)
      return waiter.promise
    },
    written() {
      lines = []
      uses = 0
      for (const { resolve } of takeWaiters()) resolve()
    },
    failed(error) {
      for (const { reject } of takeWaiters()) reject(error)
    },
  }
}
