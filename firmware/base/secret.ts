/**
 * Memory for secret bytes that stays where it is. V8 keeps arrays of up to 64 bytes among its objects unless they are made
 * over a buffer, and leaves stale copies behind where the collector moves them: nobody wipes those.
 */
export const newSecret = (length: number): Uint8Array<ArrayBuffer> => new Uint8Array(new ArrayBuffer(length))

export function copySecret(secret: Uint8Array): Uint8Array<ArrayBuffer> {
  const copy = newSecret(secret.length)
  copy.set(secret)
  return copy
}

const SHARED_BYTES = 8192
const TRANSIENT_BYTES_MAX = 256

let shared = new ArrayBuffer(0)
let sharedUsed = 0

/**
 * The same for what does not outlive an operation: many of these share one buffer, for to make and free one for each takes
 * longer than what is done with it. Who keeps such a secret copies it, and none is given to another thread by its buffer.
 */
export function transientSecret(length: number): Uint8Array<ArrayBuffer> {
  if (length > TRANSIENT_BYTES_MAX) return newSecret(length)
  if (sharedUsed + length > shared.byteLength) {
    shared = new ArrayBuffer(SHARED_BYTES)
    sharedUsed = 0
  }
  const bytes = new Uint8Array(shared, sharedUsed, length)
  sharedUsed += length
  return bytes
}

export function copyTransient(secret: Uint8Array): Uint8Array<ArrayBuffer> {
  const copy = transientSecret(secret.length)
  copy.set(secret)
  return copy
}

export const ownsMemory = (bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> =>
  bytes.buffer instanceof ArrayBuffer && bytes.length === bytes.buffer.byteLength

type Secret = Uint8Array | Uint32Array | Int32Array | Float64Array

/** The one name for wiping: what is only set to zeros, and no secret, says so by `fill(0)`. */
export function wipe(...secrets: readonly (Secret | null | undefined)[]): void {
  for (const secret of secrets) secret?.fill(0)
}

/**
 * Every secret in a value that was parsed, but for streams; those that were given back already are left out. With a list of its own instead
 * of recursion: a value may be nested deeper than the stack.
 */
export function wipeIn(value: unknown): void {
  const left = [value]
  while (left.length > 0) {
    const one = left.pop()
    if (one instanceof Uint8Array) {
      if (!(one.buffer as ArrayBuffer).detached) wipe(one)
    } else if (one instanceof Map) for (const part of one.values()) left.push(part)
    else if (typeof one === 'object' && one !== null && !(Symbol.asyncIterator in one))
      for (const part of Object.values(one)) left.push(part)
  }
}

/** Wipes. Memory of its own is given back at once, the array is empty then: to leave it to the collector costs more. */
export function wipeAndFree(bytes: Uint8Array): void {
  wipe(bytes)
  if (bytes.length > 0 && ownsMemory(bytes)) bytes.buffer.transfer(0)
}
