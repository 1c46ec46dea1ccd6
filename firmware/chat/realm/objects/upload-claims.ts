/** Claims: the uploads that each message shows, and the right to read an upload that follows. Contract sections 2.5 and 6.4; V2. */

import type { MessageRow } from '../../store/messages.ts'
import type { UploadRow } from '../../store/uploads.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { linksUpload } from '../model/upload-path.ts'
import { visibilityOf } from '../permissions/visibility.ts'

/** Bound: thousands of messages may show one upload, and each further one publishes this list again. */
const MESSAGES_SHOWN = 100

export interface Attachment {
  id: number
  name: string
  path_id: string
  size: number
  create_time: number
  /** The newest ones, in ascending order. */
  messages: { id: number; date_sent: number }[]
  message_ids: number[]
}

export function attachmentView({ store }: Realm, upload: UploadRow): Attachment {
  const claims = store.uploads.claimsOf(upload.id, MESSAGES_SHOWN)
  return {
    id: upload.id,
    name: upload.name,
    path_id: upload.path,
    size: upload.sizeBytes,
    create_time: upload.time,
    messages: claims.map(({ message, time }) => ({ id: message, date_sent: time })),
    message_ids: claims.map(({ message }) => message),
  }
}

/** True for the owner and for users who may read a message that shows the upload. `user` is null for spectators. */
function canReadUpload(realm: Realm, user: User | null, upload: UploadRow): boolean {
  if (user?.id === upload.owner) return true
  const { uploads } = realm.store
  const { extent, canRead } = visibilityOf(realm, user)
  return uploads
    .claimedIn(upload.id)
    .some(
      (recipient) =>
        extent(recipient) === 'all' ||
        (extent(recipient) === 'received' && uploads.claimsIn(upload.id, recipient).some(canRead)),
    )
}

/** Returns undefined also for an upload that the user may not read. */
export function findUpload(realm: Realm, user: User | null, path: string): UploadRow | undefined {
  const upload = realm.store.uploads.byPath(path)
  return upload !== undefined && canReadUpload(realm, user, upload) ? upload : undefined
}

/**
 * True if a message shows the upload, or a scheduled message, a draft or a saved snippet of its owner links it. Others may not read it
 * without a message.
 */
export function isLinked({ state, store }: Realm, { id, owner, path }: UploadRow): boolean {
  if (store.uploads.isClaimed(id)) return true
  const unsent = [state.scheduledMessagesOf, state.draftsOf, state.savedSnippetsOf]
  return unsent.some((texts) => [...texts.get(owner).values()].some(({ content }) => linksUpload(content, path)))
}

/**
 * Sets the uploads that the message shows, which its author must be allowed to read. Returns the uploads that it showed before and that no
 * message shows now, except those of texts that are still to be sent: clients offer to delete them.
 */
export function claimUploads(realm: Realm, tx: Transaction, row: MessageRow, pathIds: readonly string[]): Attachment[] {
  const { uploads } = realm.store
  const before = uploads.ofMessage(row.id)
  const wanted = pathIds.flatMap((path) => uploads.byPath(path) ?? [])
  const added = wanted.filter(({ id }) => !before.some((known) => known.id === id))
  const dropped = before.filter(({ id }) => !wanted.some((known) => known.id === id))
  for (const { id } of added) uploads.claim(id, row.id)
  for (const { id } of dropped) uploads.release(id, row.id)
  publishUpdates(realm, tx, [...added, ...dropped])
  return dropped.filter((upload) => !isLinked(realm, upload)).map((upload) => attachmentView(realm, upload))
}

export function releaseUploads(realm: Realm, tx: Transaction, messageId: number): void {
  const { uploads } = realm.store
  const dropped = uploads.ofMessage(messageId)
  for (const { id } of dropped) uploads.release(id, messageId)
  publishUpdates(realm, tx, dropped)
}

function publishUpdates(realm: Realm, tx: Transaction, uploads: readonly UploadRow[]): void {
  for (const upload of uploads) {
    const attachment = attachmentView(realm, upload)
    publishAttachment(realm, tx, upload.owner, 'update', attachment)
  }
}

export function publishAttachment(
  { store }: Realm,
  tx: Transaction,
  owner: number,
  op: 'add' | 'update' | 'remove',
  attachment: Attachment | { id: number },
): void {
  const body = { op, attachment, upload_space_used: store.uploads.total().bytes }
  tx.publish({ type: 'attachment', to: [owner], make: () => body })
}
