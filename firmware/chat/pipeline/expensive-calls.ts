/** Calls that take much processor time and come in crowds: one in each turn of the event loop. Contract section 1.8. */

import { setImmediate } from 'node:timers/promises'
import { CofferError } from '../../base/error.ts'
import { createFairQueue, type QueuePriority } from '../../base/fair-queue.ts'
import type { Exchange } from '../../http/server/exchange.ts'

const WAITING_MAX = 10_000 // each waits on a connection of its own, and the chat has no more of them

interface ExpensiveCalls {
  /** Settles as `act` does, which has to check again what the caller may do. Throws `busy`, and if the client has gone. */
  run<T>(caller: QueuePriority, exchange: Exchange, act: () => T | Promise<T>): Promise<T>
}

export function createExpensiveCalls(): ExpensiveCalls {
  const queue = createFairQueue(WAITING_MAX)
  return {
    run: (caller, exchange, act) => {
      const gone = exchange.signal()
      return queue.run(caller, async () => {
        await setImmediate() // everything else that is ready runs first
        if (gone.aborted) throw new CofferError('invalid', 'The client closed the connection')
        return act()
      })
    },
  }
}
