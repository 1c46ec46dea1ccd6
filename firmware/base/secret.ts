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

export const ownsMemory = (bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> =>
  bytes.buffer instanceof ArrayBuffer && bytes.length === bytes.buffer.byteLength

export function wipe(...secrets: Uint8Array[]): void {
  for (const secret of secrets) secret.fill(0)
}

/** Wipes. Memory of its own is given back at once, the array is empty then: to leave it to the collector costs more. */
export function releaseSecret(bytes: Uint8Array): void {
  bytes.fill(0)
  if (ownsMemory(bytes)) bytes.buffer.transfer(0)
}
