/** The crypto pool of all appliances of a test file: starting its threads takes longer than most tests. */

import { dirname, join } from 'node:path'
import { after } from 'node:test'
import { pathToFileURL } from 'node:url'
import { createPool } from '../../firmware/crypto/pool/pool.ts'
import type { CryptoPool } from '../../firmware/crypto/types.ts'
import { buildForTests } from './build.ts'

let started: Promise<CryptoPool> | undefined

/** The worker as it is bundled: from its sources a thread takes twice as long to start. */
const start = async (): Promise<CryptoPool> =>
  createPool({ workers: 1, entry: pathToFileURL(join(dirname(await buildForTests()), 'worker.js')) })

after(async () => (await started)?.close())

/** A pool of the caller's own to change and to close, whose threads go on for the next one. */
export async function openPool(): Promise<CryptoPool> {
  started ??= start()
  const { forgetAll, onTested, ...shared } = await started
  let isClosed = false
  return {
    ...shared,
    // What was opened through it has names of its own, and gives way to what others open.
    forgetAll: () => isClosed || forgetAll(),
    onTested: (listener) => onTested((wrong) => isClosed || listener(wrong)),
    close: async () => {
      isClosed = true
    },
  }
}
