/** Pictures that users upload for their accounts. Contract rows E85, E90 and E91. */

import { ChatError } from '../../../base/error.ts'
import { imageHeader } from '../../messages/images.ts'
import { realmSetting } from '../../model/read-settings.ts'
import type { Realm } from '../../model/realm.ts'
import type { User } from '../../model/records.ts'
import { organizationOf } from '../../model/state.ts'
import type { Transaction } from '../../model/transaction.ts'
import { publishAvatar } from '../../objects/user-events.ts'

export const AVATAR_BYTES_MAX = 5 * 1024 * 1024 // max_avatar_file_size_mib

/** Throws `BAD_IMAGE` for a file that is not a picture for browsers, and the errors of `whole`. */
export async function readPicture(file: { whole(): Promise<Uint8Array> }): Promise<Uint8Array> {
  const bytes = await file.whole()
  if (imageHeader(bytes) === null)
    throw new ChatError('BAD_IMAGE', 'Could not decode image; did you upload an image file?')
  return bytes
}

/** Keeps a browser that opens the picture by itself from running anything in it. */
export const PICTURE_HEADERS = {
  'cache-control': 'private, max-age=86400', // the URL changes with the picture
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
}

const pictureName = ({ id, avatarVersion }: Pick<User, 'id' | 'avatarVersion'>): string =>
  `avatar ${id} ${avatarVersion}`

export const pictureOf = (realm: Realm, user: User): Uint8Array | undefined =>
  user.avatarSource === 'U' ? realm.store.files.picture(pictureName(user)) : undefined

/** Writes the picture to disk before the account refers to it, and deletes the old one after the commit. */
export function setPicture(realm: Realm, tx: Transaction, user: User, bytes: Uint8Array): User {
  const after: User = { ...user, avatarSource: 'U', avatarVersion: user.avatarVersion + 1 }
  realm.store.files.putPicture(pictureName(after), bytes)
  return put(realm, tx, user, after)
}

export const removePicture = (realm: Realm, tx: Transaction, user: User): User =>
  put(realm, tx, user, {
    ...user,
    avatarSource: realmSetting(organizationOf(realm.state), 'default_avatar_source'),
    avatarVersion: user.avatarVersion + 1,
  })

/** Best effort: the change is committed and must not seem to have failed. No account refers to a file that stays. */
function forget(realm: Realm, before: User): void {
  try {
    realm.store.files.removePicture(pictureName(before))
  } catch {}
}

function put(realm: Realm, tx: Transaction, before: User, after: User): User {
  tx.put('user', after)
  publishAvatar(realm, tx, after)
  if (before.avatarSource === 'U') tx.onCommit(() => forget(realm, before))
  return after
}
