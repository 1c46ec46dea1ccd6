/**
 * A copy of secret bytes in memory of its own, which stays where it is. V8 keeps arrays of up to 64 bytes among its objects
 * unless they are made over a buffer, and leaves stale copies behind where the collector moves them: nobody wipes those.
 */
export function copySecret(secret: Uint8Array): Uint8Array<ArrayBuffer> {
  const copy = new Uint8Array(new ArrayBuffer(secret.length))
  copy.set(secret)
  return copy
}
