/**
 * Work on many messages that one request asks for: done in short turns, so that other requests go on between, and left where
 * it is when its time is over. Contract sections 9 and 11.3.
 */

import { createBatchSize, threadMs } from '../../../base/batch-size.ts'
import type { Realm } from '../model/realm.ts'
import type { Transaction } from '../model/transaction.ts'

const BUDGET_MS = 50_000 // how long one call may work; contract section 9
const TURN_MS = 10
const FIRST_MESSAGES = 10
const MESSAGES_MAX = 2000 // in one turn; contract section 3.2, E20

/** `act` has a part of about so many messages done, and tells whether that was all. False: the time was over before. */
export async function inBatches(realm: Realm, act: (tx: Transaction, messages: number) => boolean): Promise<boolean> {
  const endMs = realm.clock.now() + BUDGET_MS
  const step = createBatchSize({ start: FIRST_MESSAGES, max: MESSAGES_MAX, targetMs: TURN_MS })
  for (;;) {
    const beganMs = threadMs()
    if (realm.transaction((tx) => act(tx, step.value))) return true
    if (realm.clock.now() > endMs) return false
    step.took(threadMs() - beganMs)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
