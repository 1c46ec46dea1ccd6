/**
 * Salted sessions: an attacker who reads the bus between processor and TPM learns neither the secrets on it nor the session key.
 * TPM 2.0 Library Part 1, 19 (authorizations) and 21 (parameter encryption).
 */

import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { wipe } from '../../firmware/base/secret.ts'
import { AES, AES_KEY_BITS, AES_KEY_BYTES, CFB, SHA256 } from './algorithms.ts'
import { EMPTY, join, MalformedError, readerOf, sized, u8, u16, u32 } from './bytes.ts'
import { type Authorization, type Entity, entity, flush, NULL_HANDLE, type Tpm } from './command.ts'
import { kdfa } from './derive.ts'
import { makeSalt, type StorageKey } from './storage-key.ts'

export interface TpmSession extends Entity {
  /** Authorizes one command by the session's policy, or by the empty value. May encrypt the first parameter. */
  authorize(encrypted: keyof typeof ATTRIBUTES): Authorization
}

/** TPMI_SH: Part 2, 6.11. */
const KINDS = { hmac: 0x00, policy: 0x01 } as const

/** TPMA_SESSION: Part 2, 8.4. The session continues after the command; the TPM decrypts the command, or encrypts the response. */
const ATTRIBUTES = { command: 0x01 | 0x20, response: 0x01 | 0x40 } as const

const NONCE_BYTES = 32

/** Calls `work` in a session whose key only the TPM with this storage key can compute, then ends the session. */
export function inSession<T>(
  tpm: Tpm,
  kind: keyof typeof KINDS,
  storageKey: StorageKey,
  work: (session: TpmSession) => T,
): T {
  const nonceCaller = randomBytes(NONCE_BYTES)
  const { salt, encryptedSalt } = makeSalt(storageKey)
  const symmetric = join(u16(AES), u16(AES_KEY_BITS), u16(CFB))
  let session: (TpmSession & { wipe(): void }) | null = null
  try {
    const { handle, response } = tpm.runForHandle('StartAuthSession', {
      handles: [storageKey, entity(NULL_HANDLE)],
      parameters: join(sized(nonceCaller), sized(encryptedSalt), u8(KINDS[kind]), symmetric, u16(SHA256)),
    })
    const nonceTpm = response.sized()
    session = createSession(handle, kdfa(salt, 'ATH', nonceTpm, nonceCaller), nonceTpm)
    return work(session)
  } finally {
    wipe(salt)
    if (session !== null) {
      session.wipe()
      flush(tpm, session.handle)
    }
  }
}

/** All authorization values are empty, so HMACs and encryption use the session key only. */
function createSession(handle: number, key: Uint8Array, firstNonceTpm: Uint8Array): TpmSession & { wipe(): void } {
  let nonceTpm = firstNonceTpm
  let nonceCaller: Uint8Array = EMPTY

  const hmac = (what: Uint8Array, newer: Uint8Array, older: Uint8Array, attributes: number) =>
    createHmac('sha256', key).update(what).update(newer).update(older).update(u8(attributes)).digest()

  const authorize: TpmSession['authorize'] = (encrypted) => ({
    protect: (code, handles, parameters) => {
      nonceCaller = randomBytes(NONCE_BYTES)
      const attributes = ATTRIBUTES[encrypted]
      const sent =
        encrypted === 'command'
          ? transformFirst(createCipheriv, parameters, kdfa(key, 'CFB', nonceCaller, nonceTpm))
          : parameters
      const names = handles.map(({ name }) => name)
      const cpHash = hash(u32(code), ...names, sent) // Part 1, 18.7
      const area = join(
        u32(handle),
        sized(nonceCaller),
        u8(attributes),
        sized(hmac(cpHash, nonceCaller, nonceTpm, attributes)),
      )
      return { area, sent }
    },
    verify: (code, parameters, area) => {
      nonceTpm = area.sized()
      const attributes = area.u8()
      const rpHash = hash(u32(0), u32(code), parameters) // Part 1, 18.8
      const expected = hmac(rpHash, nonceTpm, nonceCaller, attributes)
      const found = area.sized()
      if (attributes !== ATTRIBUTES[encrypted] || found.length !== expected.length || !timingSafeEqual(found, expected))
        throw new MalformedError('a response that the TPM has not made')
      return encrypted === 'response'
        ? transformFirst(createDecipheriv, parameters, kdfa(key, 'CFB', nonceTpm, nonceCaller))
        : parameters
    },
  })
  return { handle, name: u32(handle), authorize, wipe: () => wipe(key) }
}

/** Encrypts or decrypts the contents of the first TPM2B. The key depends on the nonces of the message. Part 1, 21.3. */
function transformFirst(
  create: typeof createCipheriv | typeof createDecipheriv,
  parameters: Uint8Array,
  keyAndVector: Uint8Array,
): Uint8Array {
  const reader = readerOf(parameters)
  const first = reader.sized()
  const [key, vector] = [keyAndVector.subarray(0, AES_KEY_BYTES), keyAndVector.subarray(AES_KEY_BYTES)]
  const transformed = create('aes-128-cfb', key, vector).update(first)
  try {
    return join(u16(transformed.length), transformed, reader.rest())
  } finally {
    wipe(keyAndVector, first, transformed)
  }
}

function hash(...parts: readonly Uint8Array[]): Uint8Array {
  const made = createHash('sha256')
  for (const part of parts) made.update(part)
  return made.digest()
}
