/** A worker of the pool that takes pages which other threads have freed, after each of its operations, and has no use for them yet. */

import { parentPort } from 'node:worker_threads'
import { collectGarbage } from '../../firmware/base/garbage.ts'
import '../../firmware/crypto/pool/worker.ts'

const ROUNDS = 4
// Nearly as much as the smallest nursery holds: V8 then makes its pages part of the old space, and takes others for the nursery.
const ARRAYS = 110
const ELEMENTS = 1000

const inUse: number[][] = []
parentPort?.on('message', (message) => {
  if (typeof message === 'string' || 'overwriteGarbage' in message) return
  for (let n = 0; n < ROUNDS; n++) {
    for (let i = 0; i < ARRAYS; i++) inUse.push(new Array(ELEMENTS).fill(i))
    collectGarbage()
  }
})
