/**
 * Runs one request's work on many messages in short transactions, so that other requests are served in between, up to a time limit.
 * Contract sections 9 and 11.3.
 */

import { createBatchSize, threadMs } from '../../../base/batch-size.ts'
import type { Realm } from '../model/realm.ts'
import type { Transaction } from '../model/transaction.ts'

const BUDGET_MS = 50_000 // limit per call; contract section 9
const TURN_MS = 10
const FIRST_MESSAGES = 10
const MESSAGES_MAX = 2000 // per transaction; contract section 3.2, E20

/** `act` processes about `messages` messages and returns true when all are done. Returns false if the time limit ends the work early. */
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
