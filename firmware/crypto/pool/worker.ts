/** Worker thread of the pool: holds opened keys, processes one request at a time, writes no log. */

import { getPriority, setPriority } from 'node:os'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { refuseNativeCode } from '../../base/confinement.ts'
import { CofferError, wrongState } from '../../base/error.ts'
import { collectGarbage, overwriteGarbage, shrinkHeap } from '../../base/garbage.ts'
import { wipe } from '../../base/secret.ts'
import { Fault } from '../engine/fault.ts'
import { engine } from '../engine/select.ts'
import { wipeStack } from '../engine/stack.ts'
import { deriveKey } from '../kdf.ts'
import { type Random, systemRandom } from '../random.ts'
import { encryptRsa } from '../rsa/encryption.ts'
import type { RsaClaims } from '../rsa/generate.ts'
import type { KeyPair, OpenedKey } from '../types.ts'
import { verifies } from '../verification.ts'
import { knownAnswers } from './known-answers.ts'
import { type MessageBatch, Packer, Unpacker } from './message-encoding.ts'
import {
  type FromWorker,
  type PoolReply,
  type PoolRequest,
  packReply,
  type Task,
  type ToWorker,
  unpackRequest,
  type WorkerStart,
  wipeTask,
} from './messages.ts'
import { generateKey, importKey, importRsaKey, openKey } from './operations.ts'
import { warmUpSteps } from './warm-up.ts'

const SHORT_MS = 0.3 // while operations take less time, an answer waits for up to fifteen following ones
const QUIET_MS = 5000 // after this time no further derivation is expected
const WARM_UP_SHARE = 1 / 5 // of each core, so that warming up does not delay other work

function serve(port: MessagePort): void {
  refuseNativeCode()
  const start = workerData as WorkerStart
  const epoch = new Int32Array(start.epoch)
  const opened = new Map<number, OpenedKey>()
  let isClosed = false
  let isFaulty = false

  /** Long operations draw random bytes often. This call ends them once the appliance is locked. */
  const random: Random = (bytes) => {
    if (requestEpoch !== Atomics.load(epoch, 0)) throw wrongState()
    return systemRandom(bytes)
  }
  let requestEpoch = 0
  const forget = (ref: number): void => {
    opened.get(ref)?.wipe()
    opened.delete(ref)
    wipeStack()
  }
  const forgetAll = (): void => {
    for (const key of opened.values()) key.wipe()
    opened.clear()
    wipeStack()
  }
  const answer = (request: PoolRequest): PoolReply => {
    const { id, task, open, evict } = request
    try {
      if (evict !== undefined) forget(evict)
      requestEpoch = request.epoch
      if (requestEpoch !== Atomics.load(epoch, 0)) {
        forgetAll()
        throw wrongState()
      }
      if (open !== undefined && 'ref' in task) {
        opened.get(task.ref)?.wipe()
        opened.set(task.ref, openKey(open.type, open.private, random))
      }
      return { id, result: perform(task, opened, random) }
    } catch (error) {
      isFaulty ||= error instanceof Fault
      // Error messages of packages are not passed on: they may quote secret numbers.
      const { code, message } =
        error instanceof CofferError ? error : new CofferError('internal', 'The crypto operation failed')
      return { id, code, message, unopened: 'ref' in task && !opened.has(task.ref) }
    } finally {
      wipe(open?.private)
      wipeTask(task)
      if (!('ref' in task)) wipeStack() // no later request needs the new key in this thread
    }
  }

  /** Answers short operations together, since waking the main thread costs as much as one of them. Answers long ones at once. */
  const answerAll = (batch: MessageBatch): void => {
    const requests = new Unpacker(batch)
    let packer = new Packer()
    let firstMs = performance.now()
    let startedMs = firstMs
    while (!requests.isEmpty) {
      const request = unpackRequest(requests)
      packReply(packer, answer(request))
      const nowMs = performance.now()
      const isShort = nowMs - startedMs < SHORT_MS
      startedMs = nowMs
      if (isShort && !requests.isEmpty) continue
      const [replies, moved] = packer.close()
      port.postMessage({ ...replies, tookMs: nowMs - firstMs, isFaulty } satisfies FromWorker, moved)
      packer = new Packer()
      firstMs = nowMs
      if (request.task.do === 'scrypt') collectDerivation()
    }
  }

  let quiet: NodeJS.Timeout | undefined
  /** Frees the memory of a derivation, which is as large as all other memory of the thread. */
  const collectDerivation = (): void => {
    collectGarbage()
    clearTimeout(quiet)
    quiet = setTimeout(shrinkHeap, QUIET_MS).unref()
  }

  const warmUp = ([step, ...steps]: readonly (() => void)[]): void => {
    if (isClosed || step === undefined) return
    const startedMs = performance.now()
    step()
    setTimeout(warmUp, (performance.now() - startedMs) * (1 / WARM_UP_SHARE - 1), steps).unref()
  }

  port.on('message', (message: ToWorker) => {
    if (message === 'close') {
      isClosed = true
      forgetAll()
      port.close()
    } else if (message === 'warm up') setImmediate(warmUp, warmUpAndTest(port))
    else if ('forget' in message) forget(message.forget)
    else if ('overwriteGarbage' in message) {
      wipeStack()
      overwriteGarbage()
      message.overwriteGarbage.close()
    } else answerAll(message)
  })
  if (start.nice > 0) standBack(start.nice)
  port.postMessage('ready' satisfies FromWorker)
}

function warmUpAndTest(port: MessagePort): (() => void)[] {
  const wrong: string[] = []
  return [
    ...warmUpSteps(engine).map((step) => () => orNothing(step)),
    ...knownAnswers(engine).map(({ algorithm, isRight }) => () => {
      if (!orNothing(isRight)) wrong.push(algorithm)
    }),
    () => port.postMessage({ wrong } satisfies FromWorker),
    shrinkHeap,
  ]
}

/** Returns undefined if the step throws. The algorithm then fails its known-answer test. */
function orNothing<T>(step: () => T): T | undefined {
  try {
    return step()
  } catch {
    return undefined
  }
}

const NICENESS_MAX = 19

/** Lowers the priority of this thread only: Linux has one per thread. Best effort: without it other threads run slower. */
function standBack(nice: number): void {
  try {
    setPriority(Math.min(getPriority() + nice, NICENESS_MAX))
  } catch {}
}

function perform(task: Task, opened: Map<number, OpenedKey>, random: Random): Uint8Array | KeyPair {
  switch (task.do) {
    case 'verify':
      return Uint8Array.of(verifies(task.type, task.publicKey, task.mode, task.message, task.signature) ? 1 : 0)
    case 'encryptRsa':
      return encryptRsa(task.publicKey, task.message)
    case 'generate':
      return generateKey(task.type, task.bits, random)
    case 'import':
      return importKey(task.type, task.data, task.expanded, random)
    case 'importRsa':
      return importRsaKey(task.primeP, task.primeQ, task.publicExponent, random, claimsOf(task))
    case 'scrypt':
      return deriveKey(task.passphrase, task.salt, task.cost)
  }
  const key = opened.get(task.ref)
  if (key === undefined) throw new CofferError('internal', 'The key is not open')
  switch (task.do) {
    case 'sign':
      return key.sign(task.mode, task.message, task.context)
    case 'decrypt':
      return key.decrypt(task.mode, task.message, task.iv, task.associatedData, task.context)
    case 'encrypt':
      return key.encrypt(task.mode, task.message, task.iv, task.associatedData, task.context)
  }
}

/** Claims are complete or absent. */
const claimsOf = (task: Partial<RsaClaims>): RsaClaims | undefined =>
  task.privateExponent === undefined ? undefined : (task as RsaClaims)

if (parentPort !== null) serve(parentPort)
