/** Reads how much a browser has stored for starts without the server. */

import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { WAIT_MS_MAX } from '../../console/browser.ts'

const ROUND_MS = 100

type Store = 'cache' | 'records'

/** As both drivers have it. */
interface Page {
  evaluate<T>(act: (store: Store) => Promise<T>, store: Store): Promise<T>
}

/** The nonces of all records there. Each write of a record makes another one. */
const noncesIn = (page: Page, store: Store): Promise<string[]> =>
  page.evaluate(async (store) => {
    const answered = <T>(request: IDBRequest<T>) =>
      new Promise<T>((resolve) => request.addEventListener('success', () => resolve(request.result)))
    const database = await answered(indexedDB.open('coffer-chat'))
    const records: { iv: Uint8Array }[] = await answered(database.transaction(store).objectStore(store).getAll())
    database.close()
    return records.map(({ iv }) => iv.join(' '))
  }, store)

/** Drafts and outgoing messages. */
export const textNonces = (page: Page): Promise<string[]> => noncesIn(page, 'records')
export const textCount = async (page: Page): Promise<number> => (await textNonces(page)).length

/** State and messages. */
export const cachedCount = async (page: Page): Promise<number> => (await noncesIn(page, 'cache')).length

export async function until(isDone: () => Promise<boolean>, what: string): Promise<void> {
  for (const deadline = performance.now() + WAIT_MS_MAX; !(await isDone()); await sleep(ROUND_MS))
    assert.ok(performance.now() < deadline, what)
}
