/** Receives an upload: writes chunks to disk as they arrive, and creates the upload once it is complete. Row E130. */

import { setImmediate } from 'node:timers/promises'
import { defined } from '../../../base/defined.ts'
import { MIB } from '../../../base/memory.ts'
import { badRequest, ChatError } from '../../base/error.ts'
import { CHUNK_BYTES, CHUNKS_AT_ONCE } from '../../store/files.ts'
import type { UploadRow } from '../../store/uploads.ts'
import { expectRoomForFiles, expectUploadQuota } from '../model/disk-room.ts'
import { payerOf } from '../model/owners.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import { REALM_ID, type User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { newPathId, shownName } from '../model/upload-path.ts'
import { attachmentView, publishAttachment } from '../objects/upload-claims.ts'
import { imageHeader } from './images.ts'
import { createChunkWriter } from './upload-writer.ts'

export const UPLOAD_BYTES_MAX = 100 * MIB // contract section 9

const WRITTEN_BYTES = CHUNKS_AT_ONCE * CHUNK_BYTES

/** Concurrent uploads: each holds 1 MiB in memory. */
const UPLOADS_MAX = 32
const UPLOADS_OF_OWNER_MAX = 8 // with all bots

interface ArrivingFile {
  name: string
  content: AsyncIterable<Uint8Array>
  /** Throws if the request's authorization was lost meanwhile. */
  check: () => void
}

/** Throws `REALM_UPLOAD_QUOTA`, `full`, `RATE_LIMIT_HIT`, and the errors of `content` and `check`; then deletes the chunks. */
export async function receiveUpload(realm: Realm, me: User, file: ArrivingFile): Promise<UploadRow> {
  const end = begin(realm, payerOf(me))
  try {
    return await receive(realm, me, file)
  } finally {
    end()
  }
}

async function receive(realm: Realm, me: User, { name, content, check }: ArrivingFile): Promise<UploadRow> {
  const id = realm.transaction((tx) => tx.nextId('upload'))
  try {
    const writer = createChunkWriter(realm.store.files, id, (bytes) => {
      check()
      expectUploadQuota(realm, me, bytes)
      expectRoomForFiles(realm, WRITTEN_BYTES)
    })
    for await (const piece of content) writer.add(piece)
    const { bytes, head } = writer.end()
    return finish(realm, me, { id, name, bytes, head })
  } catch (error) {
    await removeFile(realm, id).catch(() => {}) // the next start deletes the rest
    throw error
  }
}

const arriving = new WeakMap<Realm, Map<number, number>>()

/** Counts an upload in progress. Returns the function that ends it. */
function begin(realm: Realm, owner: number): () => void {
  const counts = arriving.get(realm) ?? new Map<number, number>()
  arriving.set(realm, counts)
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const own = counts.get(owner) ?? 0
  if (all >= UPLOADS_MAX || own >= UPLOADS_OF_OWNER_MAX)
    throw new ChatError('RATE_LIMIT_HIT', 'Too many files are being uploaded', { 'retry-after': 1 })
  counts.set(owner, own + 1)
  return () => {
    const left = defined(counts.get(owner)) - 1
    if (left === 0) counts.delete(owner)
    else counts.set(owner, left)
  }
}

function finish(
  realm: Realm,
  me: User,
  { id, name, bytes, head }: { id: number; name: string; bytes: number; head: Uint8Array },
): UploadRow {
  const picture = imageHeader(head)
  return realm.transaction((tx) => {
    expectUploadQuota(realm, me, bytes)
    const upload: UploadRow = {
      id,
      path: newPathId(REALM_ID, name, realm.random),
      owner: me.id,
      name: shownName(name),
      sizeBytes: bytes,
      time: nowOf(realm),
      width: picture?.width ?? null,
      height: picture?.height ?? null,
    }
    realm.store.uploads.add(upload)
    publishAttachment(realm, tx, me.id, 'add', attachmentView(realm, upload))
    return upload
  })
}

/** Throws `BAD_REQUEST` if `me` does not own the upload. Row E133. */
export async function deleteUpload(realm: Realm, me: User, id: number): Promise<void> {
  realm.transaction((tx) => {
    const upload = realm.store.uploads.get(id)
    if (upload === undefined || upload.owner !== me.id) throw badRequest('Invalid attachment')
    dropUpload(realm, tx, upload)
  })
  await removeFile(realm, id)
}

/** Within a transaction. Afterwards call `removeFile` to delete the bytes. */
export function dropUpload(realm: Realm, tx: Transaction, { id, owner }: UploadRow): void {
  realm.store.uploads.remove(id)
  publishAttachment(realm, tx, owner, 'remove', { id })
}

/** Deletes in slices: deleting a large file takes as long as writing it. */
export async function removeFile({ store }: Realm, id: number): Promise<void> {
  while (store.files.removeSome(id)) await setImmediate()
}

/** Deletes the chunks of incomplete and half-deleted files. Runs at start, before any upload. */
export async function removeOrphans(realm: Realm, isOpen: () => boolean): Promise<void> {
  const exported = new Set([...realm.state.realmExport.all()].map(({ archive }) => archive?.id))
  const orphans = realm.store.files.all().filter((id) => realm.store.uploads.get(id) === undefined && !exported.has(id))
  for (const id of orphans) while (isOpen() && realm.store.files.removeSome(id)) await setImmediate()
}
