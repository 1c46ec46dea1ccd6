/** The text of a notification, which only the browser can read. Contract section 3.9.1. */

import { readerOf } from '../realm/messages/flags.ts'
import { locationOf, type MessageLocation } from '../realm/messages/location.ts'
import { userSetting } from '../realm/model/read-settings.ts'
import type { Realm } from '../realm/model/realm.ts'
import type { User } from '../realm/model/records.ts'
import { UNKNOWN_USER } from '../realm/objects/user-view.ts'
import { mayAccess } from '../realm/permissions/user-access.ts'
import { visibilityOf } from '../realm/permissions/visibility.ts'
import type { MessageRow } from '../store/messages.ts'

const TEXT_CHARACTERS_MAX = 200

/** Null if the user has read the message, or may not read it any more. */
export function textOfPush(realm: Realm, user: User, row: MessageRow, hasContent: boolean): Uint8Array | null {
  if (!visibilityOf(realm, user).canRead(row) || !readerOf(realm, user).isUnread(row)) return null
  const location = locationOf(realm, row)
  const isHidden = location.kind === 'conversation' && !userSetting(user, 'pm_content_in_desktop_notifications')
  const text = {
    id: row.id,
    ...(isHidden && { hidden: true }),
    ...(hasContent && contentOf(realm, user, row, location)),
    ...(hasContent && !isHidden && { text: [...row.content].slice(0, TEXT_CHARACTERS_MAX).join('') }),
  }
  return new TextEncoder().encode(JSON.stringify(text))
}

function contentOf(realm: Realm, user: User, row: MessageRow, location: MessageLocation) {
  const sender = realm.state.user.require(row.sender)
  return {
    conversation: row.recipient,
    sender: mayAccess(realm, user, sender) ? sender.fullName : UNKNOWN_USER,
    ...(location.kind === 'channel' && { channel: location.channel.name, topic: location.topic }),
  }
}
