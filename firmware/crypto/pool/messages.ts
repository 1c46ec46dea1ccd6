import type { MessagePort } from 'node:worker_threads'
import { defined } from '../../base/defined.ts'
import type { ErrorCode } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import type { RsaClaims } from '../rsa/generate.ts'
import type { DecryptMode, EncryptMode, KeyPair, KeyType, PublicKey, ScryptCost, SignMode } from '../types.ts'
import type { MessageBatch, Packer, Unpacker } from './message-encoding.ts'

export type Task =
  | { do: 'sign'; ref: number; mode: SignMode; message: Uint8Array; context: Uint8Array | undefined }
  | {
      do: 'decrypt'
      ref: number
      mode: DecryptMode
      message: Uint8Array
      iv: Uint8Array | undefined
      associatedData: Uint8Array | undefined
      context: Uint8Array | undefined
    }
  | {
      do: 'encrypt'
      ref: number
      mode: EncryptMode
      message: Uint8Array
      iv: Uint8Array
      associatedData: Uint8Array | undefined
      context: Uint8Array | undefined
    }
  | { do: 'encryptRsa'; publicKey: PublicKey; message: Uint8Array }
  | {
      do: 'verify'
      type: KeyType
      publicKey: NonNullable<PublicKey>
      mode: SignMode
      message: Uint8Array
      signature: Uint8Array
    }
  | { do: 'generate'; type: KeyType; bits: number | undefined }
  | { do: 'import'; type: Exclude<KeyType, 'RSA'>; data: Uint8Array; expanded: Uint8Array | undefined }
  | ({ do: 'importRsa'; primeP: Uint8Array; primeQ: Uint8Array; publicExponent: Uint8Array } & Partial<RsaClaims>)
  | { do: 'scrypt'; passphrase: Uint8Array; salt: Uint8Array; cost: ScryptCost }

/** The worker wipes all byte arrays. */
export interface PoolRequest {
  id: number
  /** Value of the shared counter when the request was sent. A lock increments the counter, which invalidates waiting requests. */
  epoch: number
  task: Task
  /** The private key, sent with its first task. */
  open?: { type: KeyType; private: Uint8Array }
  /** Reference of a key to wipe first, to make room. */
  evict?: number
}

/** The worker closes the port when its garbage has been overwritten. */
type GarbageRequest = { overwriteGarbage: MessagePort }

export type ToWorker = MessageBatch | { forget: number } | GarbageRequest | 'warm up' | 'close'

export type FromWorker = 'ready' | Tested | Replies

/** Sent once, after the warm-up. */
interface Tested {
  /** Algorithms that failed their known-answer test. */
  wrong: string[]
}

export interface Replies extends MessageBatch {
  tookMs: number
  /** True if a memory check failed. The worker still answers pending requests, and must be replaced. */
  isFaulty: boolean
}

export type PoolReply =
  | { id: number; result: Uint8Array | KeyPair }
  /** `unopened` is true if the key is not open in that worker. */
  | { id: number; code: ErrorCode; message: string; unopened: boolean }

export interface WorkerStart {
  epoch: SharedArrayBuffer
  nice: number
}

/** Members of each task in the order of transfer: plain values, then byte arrays. */
const MEMBERS: { readonly [Do in Task['do']]: readonly [plain: Names<Do>, bytes: Names<Do>] } = {
  sign: [
    ['ref', 'mode'],
    ['message', 'context'],
  ],
  decrypt: [
    ['ref', 'mode'],
    ['message', 'iv', 'associatedData', 'context'],
  ],
  encrypt: [
    ['ref', 'mode'],
    ['message', 'iv', 'associatedData', 'context'],
  ],
  encryptRsa: [['publicKey'], ['message']],
  verify: [
    ['type', 'publicKey', 'mode'],
    ['message', 'signature'],
  ],
  generate: [['type', 'bits'], []],
  import: [['type'], ['data', 'expanded']],
  importRsa: [[], ['primeP', 'primeQ', 'publicExponent', 'privateExponent', 'exponentP', 'exponentQ', 'coefficient']],
  scrypt: [['cost'], ['passphrase', 'salt']],
}

type Names<Do> = readonly Exclude<keyof Extract<Task, { do: Do }>, 'do'>[]

/** Takes ownership of the byte arrays. */
export function packRequest(packer: Packer, { id, epoch, task, open, evict }: PoolRequest): void {
  packer.add(id, epoch, evict, open?.type)
  packer.addBytes(open?.private)
  const [plain, bytes] = MEMBERS[task.do]
  const members = task as unknown as Record<string, unknown>
  packer.add(task.do)
  for (const name of plain) packer.add(members[name])
  for (const name of bytes) packer.addBytes(members[name] as Uint8Array | undefined)
}

export function unpackRequest(unpacker: Unpacker): PoolRequest {
  const [id, epoch, evict] = [unpacker.take(), unpacker.take(), unpacker.take()] as [number, number, number | undefined]
  const type = unpacker.take() as KeyType | undefined
  const key = unpacker.takeBytes()
  const task: Record<string, unknown> = { do: unpacker.take() }
  const [plain, bytes] = MEMBERS[task.do as Task['do']]
  for (const name of plain) task[name] = unpacker.take()
  for (const name of bytes) task[name] = unpacker.takeBytes()
  const request: PoolRequest = { id, epoch, task: task as Task }
  if (evict !== undefined) request.evict = evict
  if (type !== undefined && key !== undefined) request.open = { type, private: key }
  return request
}

/** Takes ownership of the byte arrays that may be secret. */
export function packReply(packer: Packer, reply: PoolReply): void {
  if ('code' in reply) packer.add(reply.id, 'error', reply.code, reply.message, reply.unopened)
  else if (reply.result instanceof Uint8Array) {
    packer.add(reply.id, 'bytes')
    packer.addBytes(reply.result)
  } else {
    packer.add(reply.id, 'pair', reply.result.type, reply.result.public)
    packer.addBytes(reply.result.private)
  }
}

export function unpackReply(unpacker: Unpacker): PoolReply {
  const [id, kind] = [unpacker.take() as number, unpacker.take()]
  if (kind === 'bytes') return { id, result: defined(unpacker.takeBytes()) }
  if (kind === 'pair') {
    const [type, publicKey] = [unpacker.take() as KeyType, unpacker.take() as PublicKey]
    return { id, result: { type, public: publicKey, private: defined(unpacker.takeBytes()) } }
  }
  const [code, message] = [unpacker.take() as ErrorCode, unpacker.take() as string]
  return { id, code, message, unopened: unpacker.take() as boolean }
}

export function bytesIn(task: Task): number {
  let bytes = 0
  for (const array of byteArraysOf(task)) bytes += array.length
  return bytes
}

export function wipeTask(task: Task): void {
  wipe(...byteArraysOf(task))
}

function byteArraysOf(task: Task): Uint8Array[] {
  const members = task as unknown as Record<string, Uint8Array | undefined>
  const [, names] = MEMBERS[task.do]
  return names.map((name) => members[name]).filter((array) => array !== undefined)
}
