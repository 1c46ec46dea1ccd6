/**
 * The form of a backup of our own, contract section 8.2: in clear a magic with a version byte and the salt of the backup
 * passphrase, then chunks, each with its length before it. The first is the header, sealed by the backup key; it holds a
 * fresh key that seals all others, so that chunks of two backups never mix. Then one chunk for each record, with its
 * position inside, of the chat's files one for each piece, and a last one with the number of all.
 */

import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { wipe } from '../base/secret.ts'
import type { Random } from '../crypto/random.ts'
import { deriveSealKey, SEAL_KEY_BYTES, SEAL_OVERHEAD_BYTES, seal, unseal } from '../crypto/seal.ts'
import { COLLECTION_NAMES, COLLECTIONS, type Collection } from '../kms/domain/collections.ts'
import { HEADS } from '../store/store.ts'
import type { ChatPiece } from './chat.ts'

const VERSION = 2 // since records have numbers, and the head says which there must be
const VERSIONS: readonly number[] = [1, VERSION]
export const MAGIC = utf8ToBytes('_COFFER_BACKUP_')
export const SALT_BYTES = 16
export const PREAMBLE_BYTES = MAGIC.length + 1 + SALT_BYTES
export const LENGTH_BYTES = 4

/** The largest record is a certificate of 1 MiB; what says it is larger is no chunk of ours. */
export const CHUNK_BYTES_MAX = 4 * 1024 * 1024
export const CHUNK_BYTES_MIN = SEAL_OVERHEAD_BYTES

/** A backup's description of itself, with the domain key for those who may open it. */
export interface Header {
  madeAtMs: number
  deviceId: string
  /** The domain key sealed by the unlock key alone, with salt and costs, see store/key-slots.ts. */
  attendedSlot: Uint8Array
  /** Opens on the same device only: the domain key for unattended starts. Empty where those are off. */
  unattendedSlot: Uint8Array
}

/** A record of the device area, opened: its seal would be worth nothing elsewhere. */
export interface DeviceRecord {
  name: string
  value: Uint8Array
}

/** A row of the store, its value still sealed by the domain key. */
interface StoredRow {
  collection: BackupCollection
  slot: bigint
  sealed: Uint8Array
}

export type BackupRecord = DeviceRecord | StoredRow | ChatPiece

/** The kinds of chunks after the header, beside those of the collections. */
const DEVICE = 0
const HEAD = 8
const CHAT_PIECE = 9
const TRAILER = 255

export type BackupCollection = Collection | typeof HEADS
/** Collections of a backup, in its order: first the device area, then these, each in the order of its slots. */
export const BACKUP_COLLECTIONS: readonly BackupCollection[] = [...COLLECTION_NAMES, HEADS]

const kindOf = (collection: BackupCollection): number => (collection === HEADS ? HEAD : COLLECTIONS[collection].kind)

const POSITION_BYTES = 8
const NUMBER_BYTES = 8

export function encodePreamble(salt: Uint8Array): Uint8Array {
  return concatBytes(MAGIC, Uint8Array.of(VERSION), salt)
}

/** The salt, or what is wrong. */
export function decodePreamble(bytes: Uint8Array): Uint8Array | 'foreign' | 'version' {
  if (bytes.length < PREAMBLE_BYTES || !MAGIC.every((byte, index) => bytes[index] === byte)) return 'foreign'
  return VERSIONS.includes(bytes[MAGIC.length] ?? 0) ? bytes.slice(MAGIC.length + 1, PREAMBLE_BYTES) : 'version'
}

/** With the length in front, as all chunks. */
const chunk = (key: Uint8Array, plain: Uint8Array, random: Random): Uint8Array => {
  const sealed = seal(key, plain, random)
  return concatBytes(number(sealed.length, LENGTH_BYTES), sealed)
}

const headerKey = (backupKey: Uint8Array): Uint8Array => deriveSealKey(backupKey, 'coffer backup header')

export function sealHeader(header: Header, chunkKey: Uint8Array, backupKey: Uint8Array, random: Random): Uint8Array {
  const { madeAtMs, deviceId, attendedSlot, unattendedSlot } = header
  const fields = [number(madeAtMs, NUMBER_BYTES), utf8ToBytes(deviceId), attendedSlot, unattendedSlot, chunkKey]
  const plain = concatBytes(
    Uint8Array.of(VERSION),
    ...fields.flatMap((field) => [number(field.length, LENGTH_BYTES), field]),
  )
  const key = headerKey(backupKey)
  try {
    return chunk(key, plain, random)
  } finally {
    wipe(key, plain)
  }
}

/** Null when the backup key is another one or the header was edited. */
export function openHeader(sealed: Uint8Array, backupKey: Uint8Array): (Header & { chunkKey: Uint8Array }) | null {
  const key = headerKey(backupKey)
  const plain = unseal(key, sealed)
  wipe(key)
  if (plain === null || !VERSIONS.includes(plain[0] ?? 0)) return null
  try {
    const fields: Uint8Array[] = []
    for (let at = 1; at < plain.length; ) {
      const end = at + LENGTH_BYTES + readNumber(plain.subarray(at, at + LENGTH_BYTES))
      fields.push(plain.slice(at + LENGTH_BYTES, end))
      at = end
    }
    const [madeAt, deviceId, attendedSlot, unattendedSlot, chunkKey] = fields
    if (!madeAt || !deviceId || !attendedSlot || !unattendedSlot || chunkKey?.length !== SEAL_KEY_BYTES) return null
    return {
      madeAtMs: readNumber(madeAt),
      deviceId: new TextDecoder().decode(deviceId),
      attendedSlot,
      unattendedSlot,
      chunkKey,
    }
  } finally {
    wipe(plain)
  }
}

export function sealRecord(record: BackupRecord, position: number, chunkKey: Uint8Array, random: Random): Uint8Array {
  const plain = encode(record)
  plain.set(number(position, POSITION_BYTES))
  try {
    return chunk(chunkKey, plain, random)
  } finally {
    wipe(plain)
  }
}

export const sealTrailer = (count: number, chunkKey: Uint8Array, random: Random): Uint8Array =>
  chunk(
    chunkKey,
    concatBytes(number(count, POSITION_BYTES), Uint8Array.of(TRAILER), number(count, NUMBER_BYTES)),
    random,
  )

/** A record, the number of records at the end, or null when this is no chunk for this position. */
export function openChunk(sealed: Uint8Array, position: number, chunkKey: Uint8Array): BackupRecord | number | null {
  const plain = unseal(chunkKey, sealed)
  if (plain === null || plain.length <= POSITION_BYTES) return null
  if (readNumber(plain.subarray(0, POSITION_BYTES)) !== position) return null
  const kind = plain[POSITION_BYTES] ?? 0
  const content = plain.subarray(POSITION_BYTES + 1)
  if (kind === TRAILER) return content.length === NUMBER_BYTES ? readNumber(content) : null
  if (kind === DEVICE) return decodeDeviceRecord(content)
  if (kind === CHAT_PIECE) return decodeChatPiece(content)
  return decodeRow(
    BACKUP_COLLECTIONS.find((collection) => kindOf(collection) === kind),
    content,
  )
}

/** Room for the position, the kind, and the content from there on. */
const CONTENT_OFFSET = POSITION_BYTES + 1

function encode(record: BackupRecord): Uint8Array {
  if ('slot' in record) return encodeRow(record)
  return 'file' in record ? encodeChatPiece(record) : encodeDeviceRecord(record)
}

function encodeRow({ collection, slot, sealed }: StoredRow): Uint8Array {
  const plain = new Uint8Array(CONTENT_OFFSET + NUMBER_BYTES + sealed.length)
  plain[POSITION_BYTES] = kindOf(collection)
  new DataView(plain.buffer).setBigInt64(CONTENT_OFFSET, slot)
  plain.set(sealed, CONTENT_OFFSET + NUMBER_BYTES)
  return plain
}

function decodeRow(collection: BackupCollection | undefined, content: Uint8Array): StoredRow | null {
  if (collection === undefined || content.length < NUMBER_BYTES) return null
  const slot = new DataView(content.buffer, content.byteOffset).getBigInt64(0)
  return { collection, slot, sealed: content.subarray(NUMBER_BYTES) }
}

function encodeDeviceRecord({ name, value }: DeviceRecord): Uint8Array {
  const nameBytes = utf8ToBytes(name)
  const plain = new Uint8Array(CONTENT_OFFSET + 1 + nameBytes.length + value.length)
  plain[POSITION_BYTES] = DEVICE
  plain[CONTENT_OFFSET] = nameBytes.length
  plain.set(nameBytes, CONTENT_OFFSET + 1)
  plain.set(value, CONTENT_OFFSET + 1 + nameBytes.length)
  return plain
}

function decodeDeviceRecord(content: Uint8Array): DeviceRecord | null {
  const valueOffset = 1 + (content[0] ?? 0)
  if (content.length < valueOffset) return null
  return { name: new TextDecoder().decode(content.subarray(1, valueOffset)), value: content.subarray(valueOffset) }
}

function encodeChatPiece({ file, offset, bytes }: ChatPiece): Uint8Array {
  const name = utf8ToBytes(file)
  const plain = new Uint8Array(CONTENT_OFFSET + 1 + name.length + NUMBER_BYTES + bytes.length)
  plain[POSITION_BYTES] = CHAT_PIECE
  plain[CONTENT_OFFSET] = name.length
  plain.set(name, CONTENT_OFFSET + 1)
  plain.set(number(offset, NUMBER_BYTES), CONTENT_OFFSET + 1 + name.length)
  plain.set(bytes, CONTENT_OFFSET + 1 + name.length + NUMBER_BYTES)
  return plain
}

function decodeChatPiece(content: Uint8Array): ChatPiece | null {
  const nameEnd = 1 + (content[0] ?? 0)
  if (content.length < nameEnd + NUMBER_BYTES) return null
  return {
    file: new TextDecoder().decode(content.subarray(1, nameEnd)),
    offset: readNumber(content.subarray(nameEnd, nameEnd + NUMBER_BYTES)),
    bytes: content.subarray(nameEnd + NUMBER_BYTES),
  }
}

/** Big-endian, at most 2^53. */
function number(value: number, bytes: typeof LENGTH_BYTES | typeof NUMBER_BYTES): Uint8Array {
  const view = new DataView(new ArrayBuffer(bytes))
  if (bytes === LENGTH_BYTES) view.setUint32(0, value)
  else view.setBigUint64(0, BigInt(Math.max(0, Math.trunc(value))))
  return new Uint8Array(view.buffer)
}

export const readNumber = (bytes: Uint8Array): number => bytes.reduce((value, byte) => value * 256 + byte, 0)
