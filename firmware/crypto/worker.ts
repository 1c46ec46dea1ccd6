/** The worker thread's side of the pool: keeps opened keys, performs one request at a time, writes no log. */

import { getPriority, setPriority } from 'node:os'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { refuseNativeCode } from '../confinement.ts'
import { CofferError } from '../error.ts'
import { engine } from './engine/select.ts'
import { deriveKey } from './kdf.ts'
import {
  type FromWorker,
  packReply,
  type Reply,
  type Request,
  type Task,
  type ToWorker,
  unpackRequest,
  type WorkerStart,
  wipeBytes,
} from './messages.ts'
import { generateKey, importKey, importRsaKey, type OpenedKey, openKey } from './operations.ts'
import { Packer, type Parcel, Unpacker } from './parcel.ts'
import { systemRandom } from './random.ts'
import type { KeyPair } from './types.ts'
import { warmUpSteps } from './warm-up.ts'

const SHORT_MS = 0.3 // an answer waits for those behind it, at most fifteen, while operations take less than this
const WARM_UP_SHARE = 1 / 5 // of each core, so that warming up does not hold up what else there is to do

/** Serves requests until `close`. */
function serve(port: MessagePort): void {
  refuseNativeCode()
  const start = workerData as WorkerStart
  const epoch = new Int32Array(start.epoch)
  const opened = new Map<number, OpenedKey>()
  let isClosed = false

  const forget = (ref: number): void => {
    opened.get(ref)?.wipe()
    opened.delete(ref)
  }
  const forgetAll = (): void => {
    for (const key of opened.values()) key.wipe()
    opened.clear()
  }
  const answer = (request: Request): Reply => {
    const { id, task, open, evict } = request
    try {
      if (evict !== undefined) forget(evict)
      if (request.epoch !== Atomics.load(epoch, 0)) {
        forgetAll()
        throw new CofferError('unavailable', 'Service not available')
      }
      if (open !== undefined && 'ref' in task) {
        forget(task.ref)
        opened.set(task.ref, openKey(open.type, open.private, systemRandom))
      }
      return { id, result: perform(task, opened) }
    } catch (error) {
      // Messages of packages are not passed on: they may quote numbers.
      const { code, message } =
        error instanceof CofferError ? error : new CofferError('internal', 'The crypto operation failed')
      return { id, code, message, unopened: 'ref' in task && !opened.has(task.ref) }
    } finally {
      open?.private.fill(0)
      wipeBytes(task)
    }
  }

  /** Short operations are answered together, for waking the main thread costs as much as one; long ones one by one. */
  const answerAll = (parcel: Parcel): void => {
    const requests = new Unpacker(parcel)
    let packer = new Packer()
    let firstMs = performance.now()
    let startedMs = firstMs
    while (!requests.isEmpty) {
      packReply(packer, answer(unpackRequest(requests)))
      const nowMs = performance.now()
      const isShort = nowMs - startedMs < SHORT_MS
      startedMs = nowMs
      if (isShort && !requests.isEmpty) continue
      const [replies, moved] = packer.close()
      port.postMessage({ ...replies, tookMs: nowMs - firstMs } satisfies FromWorker, moved)
      packer = new Packer()
      firstMs = nowMs
    }
  }

  port.on('message', (message: ToWorker) => {
    if (message === 'close') {
      isClosed = true
      forgetAll()
      port.close()
    } else if (message === 'forgetAll') forgetAll()
    else if ('forget' in message) forget(message.forget)
    else answerAll(message)
  })
  if (start.nice > 0) standBack(start.nice)
  port.postMessage('ready' satisfies FromWorker)
  if (!start.warm) return
  const steps = warmUpSteps(engine)
  const warmUp = (): void => {
    if (isClosed) return
    const startedMs = performance.now()
    steps.shift()?.()
    if (steps.length > 0) setTimeout(warmUp, (performance.now() - startedMs) * (1 / WARM_UP_SHARE - 1)).unref()
  }
  setImmediate(warmUp)
}

const NICENESS_MAX = 19

/** Of this thread alone: Linux keeps it for each. What cannot be had costs the others some speed, and nobody a key. */
function standBack(nice: number): void {
  try {
    setPriority(Math.min(getPriority() + nice, NICENESS_MAX))
  } catch {}
}

function perform(task: Task, opened: Map<number, OpenedKey>): Uint8Array | KeyPair {
  switch (task.do) {
    case 'generate':
      return generateKey(task.type, task.bits, systemRandom)
    case 'import':
      return importKey(task.type, task.data)
    case 'importRsa':
      return importRsaKey(task.primeP, task.primeQ, task.publicExponent, systemRandom)
    case 'scrypt':
      return deriveKey(task.passphrase, task.salt, task.cost)
  }
  const key = opened.get(task.ref)
  if (key === undefined) throw new CofferError('internal', 'The key is not open')
  switch (task.do) {
    case 'sign':
      return key.sign(task.mode, task.message)
    case 'decrypt':
      return key.decrypt(task.mode, task.message, task.iv)
    case 'encrypt':
      return key.encrypt(task.mode, task.message, task.iv)
  }
}

if (parentPort !== null) serve(parentPort)
