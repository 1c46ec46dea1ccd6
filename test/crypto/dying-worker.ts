/** A worker of the pool that dies when told to sign a certain message. */

import { createRequire } from 'node:module'
import { parentPort } from 'node:worker_threads'
import { Unpacker } from '../../firmware/crypto/pool/message-encoding.ts'
import { type ToWorker, unpackRequest } from '../../firmware/crypto/pool/messages.ts'

parentPort!.on('message', (message: ToWorker) => {
  const isDeadly = (bytes: Uint8Array) => bytes[0] === 0xdd && bytes.length === 13
  if (typeof message !== 'object' || !('fields' in message)) return
  const requests = new Unpacker(message)
  while (!requests.isEmpty) {
    const { task } = unpackRequest(requests)
    if ('message' in task && isDeadly(task.message)) process.exit(3)
  }
})

// Not an import: the listener above must be there first.
createRequire(import.meta.url)('../../firmware/crypto/pool/worker.ts')
