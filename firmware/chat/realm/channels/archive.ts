/** Archiving a channel: it stays to be read, and nobody writes in it any more. Row E45. */

import { badRequest, ChatError } from '../../error.ts'
import type { Realm } from '../realm.ts'
import type { User } from '../records.ts'
import { publishDefaultChannels } from './default-channels.ts'
import { findChannel, viewersOf } from './find.ts'
import { noticeChannelEvent } from './notices.ts'
import { canAdminister } from './rights.ts'

export function archiveChannel(realm: Realm, me: User, id: number): void {
  realm.change((turn) => {
    const channel = findChannel(realm, me, id)
    if (!canAdminister(realm, me, channel))
      throw new ChatError('CANNOT_ADMINISTER_CHANNEL', 'You do not have permission to administer this channel')
    if (channel.isArchived) throw badRequest('Channel is already archived')
    noticeChannelEvent(realm, turn, channel, `Channel #**${channel.name}** has been archived.`)
    turn.put('channel', { ...realm.state.channel.get(id)!, isArchived: true, isDefault: false })
    turn.publish({
      type: 'stream',
      to: viewersOf(realm, channel),
      make: ({ can }) =>
        can.archived_channels
          ? { op: 'update', stream_id: id, name: channel.name, property: 'is_archived', value: true }
          : { op: 'delete', stream_ids: [id], streams: [{ stream_id: id }] },
    })
    if (channel.isDefault) publishDefaultChannels(realm, turn)
  })
}
