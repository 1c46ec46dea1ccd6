/**
 * The one way to unlock, over the network as at the console: attempts are limited, right and wrong ones are in the audit
 * log. Contract sections 7.1 and 7.6.
 */

import type { AuditLog } from '../audit/audit-log.ts'
import { type Clock, formatTime } from '../base/clock.ts'
import { CofferError } from '../base/error.ts'
import type { QueuePriority } from '../base/fair-queue.ts'
import { type LoginLimiter, UNLOCK_USER } from '../base/login-limiter.ts'

export interface UnlockOrigin {
  /** IP address of the client, or what stands for it at the console. */
  address: string
  /** A person at the machine comes before remote ones. */
  isConsole?: boolean
  /** Called before the line is written to the audit log: nobody has to write another one for this attempt. */
  onRecord?: () => void
}

export const CONSOLE: UnlockOrigin = { address: 'console', isConsole: true }

interface UnlockingOptions {
  limiter: LoginLimiter
  clock: Clock
  /** The audit log of the store at that time. */
  audit: () => AuditLog | undefined
  /** Throws `forbidden` when the passphrase is wrong. */
  open: (passphrase: Uint8Array, place: QueuePriority) => Promise<void>
}

/** Throws `forbidden` when the passphrase is wrong, `tooManyAttempts`, and what `open` throws. */
export type Unlock = (passphrase: Uint8Array, from: UnlockOrigin) => Promise<void>

export function createUnlocking({ limiter, clock, audit, open }: UnlockingOptions): Unlock {
  async function record({ address, onRecord }: UnlockOrigin, isRight: boolean): Promise<void> {
    onRecord?.()
    const time = formatTime(clock.now())
    const event = { time, user: '', address, action: 'POST /unlock', key: '', namespace: '' }
    // It is unlocked by then. The audit log has told the log why its line waits for the disk.
    if (isRight)
      await audit()
        ?.record({ ...event, result: 204 }, 'change')
        ?.catch(() => {})
    else await audit()?.record({ ...event, result: 403 }, 'refusal')
  }

  return async (passphrase, from) => {
    let wrong: CofferError | undefined
    await limiter.attempt(from.address, UNLOCK_USER, async (place): Promise<true | null> => {
      try {
        await open(passphrase, from.isConsole ? { ...place, rank: 'console' } : place)
        return true
      } catch (error) {
        if (!(error instanceof CofferError && error.code === 'forbidden')) throw error
        wrong = error
        return null
      }
    })
    await record(from, wrong === undefined)
    if (wrong !== undefined) throw wrong
  }
}
