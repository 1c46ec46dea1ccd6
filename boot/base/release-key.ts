/** Public key that verifies update images: Ed25519, as a PEM file (RFC 8410 section 4). */

import { createPublicKey, type KeyObject } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { SettingsError } from './settings-error.ts'

/** Returns the 32 bytes. Null if `path` is a default and does not exist. Throws a SettingsError if the file holds no such key. */
export function readReleaseKey(path: string, isDefault: boolean): Uint8Array | null {
  if (isDefault && !existsSync(path)) return null
  let key: KeyObject
  try {
    key = createPublicKey(readFileSync(path))
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    throw new SettingsError(
      `the release key ${path} ${syscall === undefined ? 'is not a PEM file of a key' : `cannot be read: ${code}`}`,
    )
  }
  const { kty, crv, x } = key.asymmetricKeyType === 'ed25519' ? key.export({ format: 'jwk' }) : {}
  if (kty !== 'OKP' || crv !== 'Ed25519' || x === undefined)
    throw new SettingsError(`the release key ${path} is not an Ed25519 key`)
  return new Uint8Array(Buffer.from(x, 'base64url'))
}
