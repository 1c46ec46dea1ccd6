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
