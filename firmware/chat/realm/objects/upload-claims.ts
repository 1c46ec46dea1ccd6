/** Which messages show which uploads, and who may read an upload for it. Contract sections 2.5 and 6.4; V2. */

import type { MessageRow } from '../../store/messages.ts'
import type { UploadRow } from '../../store/uploads.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { visibilityOf } from '../permissions/visibility.ts'

/** What a message shows is told with each further one, and a file may be shown in thousands. */
const MESSAGES_SHOWN = 100

export interface Attachment {
  id: number
  name: string
  path_id: string
  size: number
  create_time: number
  /** The newest, oldest first. */
  messages: { id: number; date_sent: number }[]
  /** The same. */
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

/** Its owner, and whoever may read a message that shows it. `user` is null for spectators. */
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

/** Undefined also for one that the user may not read. */
export function findUpload(realm: Realm, user: User | null, path: string): UploadRow | undefined {
  const upload = realm.store.uploads.byPath(path)
  return upload !== undefined && canReadUpload(realm, user, upload) ? upload : undefined
}

/**
 * The message shows these and no others from now on; its author may read them. Returned are those that it showed before and
 * that no message shows any more. Within a change.
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
  return dropped.map((upload) => attachmentView(realm, upload)).filter(({ messages }) => messages.length === 0)
}

/** The message is gone. Within a change. */
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

/** To whoever has uploaded it. */
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
