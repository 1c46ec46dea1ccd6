/** Runs calls that need much CPU time and come in bursts, one per turn of the event loop. Contract section 1.8. */

import { setImmediate } from 'node:timers/promises'
import { CofferError } from '../../base/error.ts'
import { createFairQueue, type QueuePriority } from '../../base/fair-queue.ts'
import type { Exchange } from '../../http/server/exchange.ts'

const WAITING_MAX = 10_000 // each waits on a connection, of which the chat has no more

interface ExpensiveCalls {
  /** `act` must check the caller's rights again. Throws `busy`, and `invalid` if the client has disconnected. */
  run<T>(caller: QueuePriority, exchange: Exchange, act: () => T | Promise<T>): Promise<T>
}

export function createExpensiveCalls(): ExpensiveCalls {
  const queue = createFairQueue(WAITING_MAX)
  return {
    run: (caller, exchange, act) => {
      const gone = exchange.signal()
      return queue.run(caller, async () => {
        await setImmediate() // other ready work runs first
        if (gone.aborted) throw new CofferError('invalid', 'The client closed the connection')
        return act()
      })
    },
  }
}
