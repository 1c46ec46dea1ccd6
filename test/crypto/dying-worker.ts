/** A worker of the pool that dies when told to sign a certain message. */

import { createRequire } from 'node:module'
import { parentPort } from 'node:worker_threads'

parentPort!.on('message', ({ task }: { task?: { message?: Uint8Array } }) => {
  if (task?.message?.[0] === 0xdd && task.message.length === 13) process.exit(3)
})

// Not an import: the listener above must be there first.
createRequire(import.meta.url)('../../firmware/crypto/worker.ts')
