/** Selects the channels of a request. Row E42. */

import type { Realm } from '../../model/realm.ts'
import type { Channel, User } from '../../model/records.ts'
import { visibleChannels } from '../../permissions/channel-find.ts'
import { canRead, isSubscribed } from '../../permissions/channel-rights.ts'

/** Each member adds channels of its kind. */
interface Selection {
  include_public: boolean
  include_web_public: boolean
  include_subscribed: boolean
  include_all: boolean
  include_can_access_content: boolean
  include_owner_subscribed: boolean
}

export function selectChannels(realm: Realm, me: User, selection: Selection, archived: boolean): Channel[] {
  const owner = me.bot?.ownerId == null ? undefined : realm.state.user.get(me.bot.ownerId)
  const isSelected = (channel: Channel): boolean =>
    selection.include_all ||
    (selection.include_public && !channel.isPrivate) ||
    (selection.include_web_public && channel.isWebPublic && !channel.isPrivate) ||
    (selection.include_subscribed && isSubscribed(realm, me, channel)) ||
    (selection.include_owner_subscribed && owner !== undefined && isSubscribed(realm, owner, channel)) ||
    (selection.include_can_access_content && canRead(realm, me, channel))
  return visibleChannels(realm, me, archived).filter(isSelected)
}
