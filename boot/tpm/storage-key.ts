/**
 * The storage key. The TPM derives it from its own seed, so it is the same each time. It wraps sealed data, and sessions are
 * salted with it. TPM 2.0 Library Part 2, 12.2 (public areas); Part 3, 24.1 (CreatePrimary).
 */

import { createECDH, createHash } from 'node:crypto'
import { wipe } from '../../firmware/base/secret.ts'
import { AES, AES_KEY_BITS, CFB, ECC, NULL, P256, P256_BYTES, SHA256 } from './algorithms.ts'
import { EMPTY, join, MalformedError, readerOf, sized, u16, u32 } from './bytes.ts'
import { type Entity, flush, OWNER, PASSWORD, type Tpm } from './command.ts'
import { kdfe } from './derive.ts'

export interface StorageKey extends Entity {
  /** Coordinates of its public point. */
  x: Uint8Array
  y: Uint8Array
}

/** TPMA_OBJECT: Part 2, 8.3. */
export const FIXED_TPM = 1 << 1
export const FIXED_PARENT = 1 << 4
const SENSITIVE_DATA_ORIGIN = 1 << 5
const USER_WITH_AUTH = 1 << 6
/** Exempt from dictionary attack protection, so that failed attempts cannot lock the TPM. */
export const NO_DA = 1 << 10
const RESTRICTED = 1 << 16
const DECRYPT = 1 << 17

/** Public area without its unique part: P-256, AES-128 in CFB mode, as in the TCG's template for storage keys. */
const TEMPLATE = join(
  u16(ECC),
  u16(SHA256),
  u32(FIXED_TPM | FIXED_PARENT | SENSITIVE_DATA_ORIGIN | USER_WITH_AUTH | NO_DA | RESTRICTED | DECRYPT),
  sized(EMPTY), // no policy
  join(u16(AES), u16(AES_KEY_BITS), u16(CFB)),
  u16(NULL), // scheme
  u16(P256),
  u16(NULL), // key derivation
)
const NO_SENSITIVE_DATA = sized(join(sized(EMPTY), sized(EMPTY)))
const NO_PCRS = u32(0)

/** Makes the key, calls `work` with it, and removes it from the TPM. */
export function withStorageKey<T>(tpm: Tpm, work: (key: StorageKey) => T): T {
  const { handle, response } = tpm.runForHandle('CreatePrimary', {
    handles: [OWNER],
    parameters: join(NO_SENSITIVE_DATA, sized(join(TEMPLATE, sized(EMPTY), sized(EMPTY))), sized(EMPTY), NO_PCRS),
    authorization: PASSWORD,
  })
  try {
    return work(readKey(handle, response.sized()))
  } finally {
    flush(tpm, handle)
  }
}

function readKey(handle: number, area: Uint8Array): StorageKey {
  const reader = readerOf(area)
  if (!Buffer.from(TEMPLATE).equals(reader.bytes(TEMPLATE.length))) throw new MalformedError('not the key asked for')
  const x = padded(reader.sized())
  const y = padded(reader.sized())
  reader.end()
  return { handle, name: nameOf(area), x, y }
}

/** Name of an object: the hash of its public area. Part 1, 16. */
export const nameOf = (area: Uint8Array): Uint8Array => join(u16(SHA256), createHash('sha256').update(area).digest())

/** Makes a secret, and its encrypted form for the TPM: the public point of a key exchange. Part 1, C.6.1. */
export function makeSalt({ x, y }: StorageKey): { salt: Uint8Array; encryptedSalt: Uint8Array } {
  const ephemeral = createECDH('prime256v1')
  const point = ephemeral.generateKeys().subarray(1)
  const [ownX, ownY] = [point.subarray(0, P256_BYTES), point.subarray(P256_BYTES)]
  const shared = ephemeral.computeSecret(join(Uint8Array.of(UNCOMPRESSED), x, y))
  try {
    return { salt: kdfe(shared, 'SECRET', ownX, x), encryptedSalt: join(sized(ownX), sized(ownY)) }
  } finally {
    wipe(shared)
  }
}

const UNCOMPRESSED = 4 // SEC 1, 2.3.3

/** Pads a coordinate, since a TPM may omit leading zeros. */
function padded(coordinate: Uint8Array): Uint8Array {
  if (coordinate.length > P256_BYTES) throw new MalformedError('a coordinate that is too long')
  return join(new Uint8Array(P256_BYTES - coordinate.length), coordinate)
}
