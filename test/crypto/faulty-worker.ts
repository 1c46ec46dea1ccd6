/** A worker of the pool with a bit that flips among the multiples of each base point when it is to sign a certain digest. */

import { createRequire } from 'node:module'
import { parentPort } from 'node:worker_threads'
import { Unpacker } from '../../firmware/crypto/pool/message-encoding.ts'
import { type ToWorker, unpackRequest } from '../../firmware/crypto/pool/messages.ts'

type Exports = { memory: { buffer: ArrayBuffer } }
const wasm = (globalThis as unknown as { WebAssembly: { Instance: new (module: object) => { exports: Exports } } })
  .WebAssembly

const memories: Uint8Array[] = []
wasm.Instance = class extends wasm.Instance {
  constructor(module: object) {
    super(module)
    if (this.exports.memory !== undefined) memories.push(new Uint8Array(this.exports.memory.buffer))
  }
}

function flip(): void {
  for (const memory of memories) {
    const first = memory.findIndex((byte) => byte !== 0)
    const last = memory.findLastIndex((byte) => byte !== 0)
    if (first >= 0) memory[(first + last) >> 1]! ^= 1
  }
}

parentPort!.on('message', (message: ToWorker) => {
  if (typeof message !== 'object' || !('fields' in message)) return
  const requests = new Unpacker(message)
  while (!requests.isEmpty) {
    const { task } = unpackRequest(requests)
    if ('message' in task && task.message.length === 32 && task.message.every((byte) => byte === 0xdd)) flip()
  }
})

// Not an import: all that must be there first.
createRequire(import.meta.url)('../../firmware/crypto/pool/worker.ts')
