/** What the pool and its worker threads say to each other. Byte arrays travel by moving their memory, never by copy. */

import type { ErrorCode } from '../error.ts'
import { copySecret } from './secret.ts'
import type { DecryptMode, EncryptMode, KeyPair, KeyType, ScryptCost, SignMode } from './types.ts'

export type Task =
  | { do: 'sign'; ref: number; mode: SignMode; message: Uint8Array }
  | { do: 'decrypt'; ref: number; mode: DecryptMode; message: Uint8Array; iv: Uint8Array | undefined }
  | { do: 'encrypt'; ref: number; mode: EncryptMode; message: Uint8Array; iv: Uint8Array }
  | { do: 'generate'; type: KeyType; bits: number | undefined }
  | { do: 'import'; type: Exclude<KeyType, 'RSA'>; data: Uint8Array }
  | { do: 'importRsa'; primeP: Uint8Array; primeQ: Uint8Array; publicExponent: Uint8Array }
  | { do: 'scrypt'; passphrase: Uint8Array; salt: Uint8Array; cost: ScryptCost }

/** Byte arrays in a request are moved, not copied: the worker wipes them. */
export interface Request {
  id: number
  /** The value of the shared counter when it was sent; `forgetAll` raises the counter, which voids what waits. */
  epoch: number
  task: Task
  /** Sent with the first task for a key. */
  open?: { ref: number; type: KeyType; private: Uint8Array }
  /** A key to wipe first, to make room. */
  evict?: number
}

export type ToWorker = Request[] | { forget: number } | 'forgetAll' | 'close'

export type FromWorker = 'ready' | Reply[]

export type Reply =
  | { id: number; result: Uint8Array | KeyPair }
  /** `unopened`: the key of the request is not open in that worker. */
  | { id: number; code: ErrorCode; message: string; unopened: boolean }

export interface WorkerStart {
  epoch: SharedArrayBuffer
  /** Whether this worker signs, and shall run each engine's first, slow calls before the first request. */
  warm: boolean
  /** Added to the niceness of the thread. */
  nice: number
}

/** The bytes in a buffer of their own, ready to be moved; a copied original is wiped. */
export function alone(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, length } = bytes
  if (buffer instanceof ArrayBuffer && length === buffer.byteLength) return new Uint8Array(buffer)
  const copy = copySecret(bytes)
  bytes.fill(0)
  return copy
}

/** The memory of an object's byte arrays, for the list of what is moved. */
export function buffersOf(source: object): ArrayBuffer[] {
  const buffers: ArrayBuffer[] = []
  for (const value of Object.values(source)) if (value instanceof Uint8Array) buffers.push(value.buffer as ArrayBuffer)
  return buffers
}

/** Wipes an object's byte arrays. */
export function wipeBytes(source: object): void {
  for (const value of Object.values(source)) if (value instanceof Uint8Array) value.fill(0)
}
