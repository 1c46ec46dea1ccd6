/** Reads a backup in our own form: everything is checked before it is given out. Contract section 8.2. */

import { CofferError } from '../base/error.ts'
import { wipe } from '../base/secret.ts'
import {
  BACKUP_COLLECTIONS,
  type BackupRecord,
  CHUNK_BYTES_MAX,
  CHUNK_BYTES_MIN,
  decodePreamble,
  type Header,
  LENGTH_BYTES,
  MAGIC,
  openChunk,
  openHeader,
  PREAMBLE_BYTES,
  readNumber,
} from './container.ts'
import { MAGIC as NETHSM_MAGIC } from './nethsm/container.ts'

/** The bytes of a backup from its beginning. */
export interface Source {
  /** The next bytes: fewer than asked for only at the end. What it gave before may be overwritten. */
  read(bytes: number): Uint8Array
}

export const RECOGNISED_BYTES = 16

/** Tells the form of a backup by its first bytes. Throws `invalid` if it is none. */
export function recognise(source: Source): 'coffer' | 'nethsm' {
  const start = source.read(RECOGNISED_BYTES)
  if (beginsWith(start, NETHSM_MAGIC)) return 'nethsm'
  if (beginsWith(start, MAGIC)) return 'coffer'
  throw new CofferError('invalid', 'Not a backup')
}

const beginsWith = (bytes: Uint8Array, magic: Uint8Array): boolean =>
  bytes.length > magic.length && magic.every((byte, index) => bytes[index] === byte)

/** The salt of the passphrase that opens a backup in our own form. Throws `invalid`. */
export function readSalt(source: Source): Uint8Array {
  const salt = decodePreamble(source.read(PREAMBLE_BYTES))
  if (salt === 'foreign') throw new CofferError('invalid', 'Not a backup')
  if (salt === 'version')
    throw new CofferError(
      'invalid',
      'The backup is of a newer version of Coffer: restore it with that version or a newer one',
    )
  return salt
}

/** Opens the part after the salt. Throws `invalid`, also for a wrong passphrase. */
export function openBackup(source: Source, backupKey: Uint8Array): OpenBackup {
  const sealed = readChunk(source)
  const header = sealed === null ? null : openHeader(sealed, backupKey)
  if (header === null) throw new CofferError('invalid', 'Wrong backup passphrase, or the backup is damaged')
  const { chunkKey, ...rest } = header
  return { header: rest, records: () => records(source, chunkKey), close: () => wipe(chunkKey) }
}

export interface OpenBackup {
  readonly header: Header
  /** To be read once; ends when the backup was found whole, throws `invalid` where it is not. */
  records(): Generator<BackupRecord, void>
  /** Wipes the key. */
  close(): void
}

function* records(source: Source, chunkKey: Uint8Array): Generator<BackupRecord, void> {
  let last: BackupRecord | undefined
  for (let position = 0; ; position++) {
    const sealed = readChunk(source)
    const content = sealed === null ? null : openChunk(sealed, position, chunkKey)
    if (content === null) throw damaged()
    if (typeof content === 'number') {
      if (content !== position || source.read(1).length > 0) throw damaged()
      return
    }
    if (last !== undefined && !follows(last, content)) throw damaged()
    last = content
    yield content
  }
}

/** Each record once and in order: the store takes what was checked without an error. */
function follows(a: BackupRecord, b: BackupRecord): boolean {
  if (rankOf(a) !== rankOf(b)) return rankOf(b) > rankOf(a) && !('file' in b && b.offset > 0)
  if ('file' in a && 'file' in b)
    return b.file === a.file ? b.offset === a.offset + a.bytes.length : b.file > a.file && b.offset === 0
  if ('name' in a && 'name' in b) return b.name > a.name
  if (!('slot' in a && 'slot' in b)) return false
  const order = BACKUP_COLLECTIONS.indexOf(b.collection) - BACKUP_COLLECTIONS.indexOf(a.collection)
  return order > 0 || (order === 0 && b.slot > a.slot)
}

const rankOf = (record: BackupRecord): number => ('name' in record ? 0 : 'slot' in record ? 1 : 2)

/** Null where the source ends or has something else. */
function readChunk(source: Source): Uint8Array | null {
  const length = source.read(LENGTH_BYTES)
  if (length.length < LENGTH_BYTES) return null
  const bytes = readNumber(length)
  if (bytes < CHUNK_BYTES_MIN || bytes > CHUNK_BYTES_MAX) return null
  const sealed = source.read(bytes)
  return sealed.length === bytes ? sealed : null
}

const damaged = () => new CofferError('invalid', 'The backup is damaged or incomplete')
