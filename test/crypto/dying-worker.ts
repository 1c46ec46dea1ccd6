/** A worker of the pool that dies when told to sign a certain message. */

import { createRequire } from 'node:module'
import { parentPort } from 'node:worker_threads'
import type { ToWorker } from '../../firmware/crypto/messages.ts'

parentPort!.on('message', (message: ToWorker) => {
  const isDeadly = (bytes: Uint8Array) => bytes[0] === 0xdd && bytes.length === 13
  if (!Array.isArray(message)) return
  if (message.some(({ task }) => 'message' in task && isDeadly(task.message))) process.exit(3)
})

// Not an import: the listener above must be there first.
createRequire(import.meta.url)('../../firmware/crypto/worker.ts')
