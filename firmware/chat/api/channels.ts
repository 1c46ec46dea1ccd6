/** Channels: listing, looking up, archiving. Contract section 3.3, rows E42, E43, E45, E46, E50. */

import { boolean, integer, text } from '../http/parameters.ts'
import { archiveChannel } from '../realm/channels/archive.ts'
import { findChannel, findChannelByName } from '../realm/channels/find.ts'
import { selectChannels } from '../realm/channels/list.ts'
import { channelView, subscriberIds } from '../realm/channels/view.ts'
import { type AnyDeclaration, declare } from './declare.ts'

const channelPath = { stream_id: integer() }

export const channelDeclarations: readonly AnyDeclaration[] = [
  declare({
    row: 'E42',
    method: 'GET',
    path: '/streams',
    who: 'account',
    parameters: {
      include_public: boolean().default(true),
      include_web_public: boolean().default(false),
      include_subscribed: boolean().default(true),
      exclude_archived: boolean().default(true),
      include_all: boolean().default(false).alias('include_all_active'),
      include_default: boolean().default(false),
      include_owner_subscribed: boolean().default(false),
      include_can_access_content: boolean().default(false),
    },
    handle: ({ realm, me, given }) => ({
      streams: selectChannels(realm, me, given, !given.exclude_archived).map((channel) => ({
        ...channelView(realm, channel),
        ...(given.include_default && { is_default: channel.isDefault }),
      })),
    }),
  }),
  declare({
    row: 'E43',
    method: 'GET',
    path: '/streams/:stream_id',
    who: 'account',
    segments: channelPath,
    handle: ({ realm, me, path }) => ({ stream: channelView(realm, findChannel(realm, me, path.stream_id)) }),
  }),
  declare({
    row: 'E45',
    method: 'DELETE',
    path: '/streams/:stream_id',
    who: 'account',
    segments: channelPath,
    handle: ({ realm, me, path }) => {
      archiveChannel(realm, me, path.stream_id)
      return {}
    },
  }),
  declare({
    row: 'E46',
    method: 'GET',
    path: '/streams/:stream_id/members',
    who: 'account',
    segments: channelPath,
    handle: ({ realm, me, path }) => ({ subscribers: subscriberIds(realm, findChannel(realm, me, path.stream_id)) }),
  }),
  declare({
    row: 'E50',
    method: 'GET',
    path: '/get_stream_id',
    who: 'account',
    parameters: { stream: text() },
    handle: ({ realm, me, given }) => ({ stream_id: findChannelByName(realm, me, given.stream).id }),
  }),
]
