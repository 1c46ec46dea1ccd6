/** Reads how much a browser has stored for starts without the server. */

import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { WAIT_MS_MAX } from '../../console/browser.ts'

const ROUND_MS = 100

type Store = 'cache' | 'records'

/** As both drivers have it. */
interface Page {
  evaluate(act: (store: Store) => Promise<number>, store: Store): Promise<number>
}

const countIn = (page: Page, store: Store): Promise<number> =>
  page.evaluate(async (store) => {
    const answered = <T>(request: IDBRequest<T>) =>
      new Promise<T>((resolve) => request.addEventListener('success', () => resolve(request.result)))
    const database = await answered(indexedDB.open('coffer-chat'))
    const count = await answered(database.transaction(store).objectStore(store).count())
    database.close()
    return count
  }, store)

/** Drafts and outgoing messages. */
export const textCount = (page: Page): Promise<number> => countIn(page, 'records')

/** State and messages. */
export const cachedCount = (page: Page): Promise<number> => countIn(page, 'cache')

export async function until(isDone: () => Promise<boolean>, what: string): Promise<void> {
  for (const deadline = performance.now() + WAIT_MS_MAX; !(await isDone()); await sleep(ROUND_MS))
    assert.ok(performance.now() < deadline, what)
}
