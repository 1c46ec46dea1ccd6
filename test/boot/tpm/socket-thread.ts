/** The thread behind `connect` in swtpm.ts; connects when there is something to say. */

import { createConnection, type Socket } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'

const LENGTH_OFFSET = 2 // of a response: in its header, after the tag
const { path, shared } = workerData as { path: string; shared: SharedArrayBuffer }
const signal = new Int32Array(shared, 0, 2)
let socket: Socket | null = null
let received = Buffer.alloc(0)

parentPort!.on('message', (command: Uint8Array | null) => {
  if (command !== null) {
    socket ??= createConnection(path).on('data', take)
    socket.write(command)
  } else {
    socket?.end()
    parentPort!.close()
  }
})

function take(bytes: Buffer): void {
  received = Buffer.concat([received, bytes])
  if (received.length < LENGTH_OFFSET + 4 || received.length < received.readUInt32BE(LENGTH_OFFSET)) return
  new Uint8Array(shared).set(received, signal.byteLength)
  signal[1] = received.length
  received = Buffer.alloc(0)
  Atomics.add(signal, 0, 1)
  Atomics.notify(signal, 0)
}
