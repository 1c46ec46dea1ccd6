/** Statuses that users set for themselves. Contract section 2.5, rows E76 to E78, V59. */

import { findEmoji, type NamedEmoji } from '../model/emoji.ts'
import { userSetting } from '../model/read-settings.ts'
import type { Realm } from '../model/realm.ts'
import type { User, UserStatus } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { accessOf, audiencesOf } from '../permissions/user-access.ts'

const NO_EMOJI = { emojiName: '', emojiCode: '', reactionType: 'unicode_emoji' }
const NONE: UserStatus = { text: '', ...NO_EMOJI }

const statusOf = (realm: Realm, user: User): UserStatus => realm.state.userStatus.get(user.id)?.value ?? NONE

export function statusObject(realm: Realm, user: User): Record<string, string | boolean> {
  const { text, ...emoji } = statusOf(realm, user)
  return {
    ...(!userSetting(user, 'presence_enabled') && { away: true }),
    ...(text !== '' && { status_text: text }),
    ...(emoji.emojiName !== '' && emojiFields(emoji)),
  }
}

const emojiFields = ({ emojiName, emojiCode, reactionType }: Omit<UserStatus, 'text'>) => ({
  emoji_name: emojiName,
  emoji_code: emojiCode,
  reaction_type: reactionType,
})

export function statusesFor(realm: Realm, viewer: User): Record<string, object> {
  const mayAccess = accessOf(realm, viewer)
  const statuses: Record<string, object> = {}
  for (const user of realm.state.user.all()) {
    if (!mayAccess(user)) continue
    const status = statusObject(realm, user)
    if (Object.keys(status).length > 0) statuses[user.id] = status
  }
  return statuses
}

interface NewStatus {
  text: string | undefined
  /** An empty name removes the emoji. */
  emoji: NamedEmoji | undefined
}

/** Undefined members stay unchanged. Throws `BAD_REQUEST` for an unknown emoji. */
export function setStatus(realm: Realm, tx: Transaction, user: User, { text, emoji }: NewStatus): void {
  const value = {
    ...statusOf(realm, user),
    ...(text !== undefined && { text }),
    ...(emoji !== undefined && chosenEmoji(realm, emoji)),
  }
  if (value.text === '' && value.emojiName === '') tx.remove('userStatus', user.id)
  else tx.put('userStatus', { userId: user.id, value })
  publishStatus(realm, tx, user, {
    ...(text !== undefined && { status_text: text }),
    ...(emoji !== undefined && emojiFields(value)),
  })
}

export function clearStatus(realm: Realm, tx: Transaction, user: User): void {
  if (realm.state.userStatus.has(user.id))
    setStatus(realm, tx, user, { text: '', emoji: { name: '', code: undefined, type: undefined } })
}

function chosenEmoji(realm: Realm, emoji: NamedEmoji) {
  if (emoji.name === '') return NO_EMOJI
  const { emoji_name, emoji_code, reaction_type } = findEmoji(realm, emoji)
  return { emojiName: emoji_name, emojiCode: emoji_code, reactionType: reaction_type as string }
}

export function publishStatus(
  realm: Realm,
  tx: Transaction,
  user: User,
  changed: Readonly<Record<string, string | boolean>>,
): void {
  tx.publish({
    type: 'user_status',
    to: audiencesOf(realm, user).seeing.map(({ id }) => id),
    make: () => ({ user_id: user.id, ...changed }),
  })
}
