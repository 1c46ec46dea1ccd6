/** Channels: creating, listing, looking up, changing, archiving. Contract section 3.3, rows E42 to E47, E50, E60. */

import { z } from 'zod'
import { boolean, integer, json, nameText, prose, text } from '../pipeline/parameters.ts'
import { channelView, subscriberIds } from '../realm/objects/channel-view.ts'
import { archiveChannel } from '../realm/organization/channels/archive.ts'
import { changeChannel } from '../realm/organization/channels/change.ts'
import { channelAddress } from '../realm/organization/channels/email-address.ts'
import { selectChannels } from '../realm/organization/channels/list.ts'
import { announceChannels, tellNewSubscribers } from '../realm/organization/channels/notices.ts'
import { createWithSubscribers } from '../realm/organization/channels/subscriptions.ts'
import { findChannel, findChannelByName } from '../realm/permissions/channel-find.ts'
import {
  folderId,
  givenGroups,
  groupUpdateParameters,
  newChannelParameters,
  newChannelSettings,
  retentionDays,
  topicsPolicy,
} from './channel-parameters.ts'
import { type AnyDeclaration, declare } from './declare.ts'

const channelPath = { stream_id: integer() }

const SUBSCRIBERS_MAX = 20_000

export const channelDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'GET',
    path: '/streams',
    isExpensive: true,
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
    handle: ({ realm, me, input }) => ({
      streams: selectChannels(realm, me, input, !input.exclude_archived).map((channel) => ({
        ...channelView(realm, channel),
        ...(input.include_default && { is_default: channel.isDefault }),
      })),
    }),
  }),
  declare({
    method: 'GET',
    path: '/streams/:stream_id',
    who: 'account',
    segments: channelPath,
    handle: ({ realm, me, path }) => ({ stream: channelView(realm, findChannel(realm, me, path.stream_id)) }),
  }),
  declare({
    method: 'PATCH',
    path: '/streams/:stream_id',
    who: 'account',
    segments: channelPath,
    parameters: {
      new_name: nameText('channel name').optional(),
      description: prose().optional(),
      is_private: boolean().optional(),
      is_web_public: boolean().optional(),
      history_public_to_subscribers: boolean().optional(),
      is_default_stream: boolean().optional(),
      is_archived: boolean().optional(),
      message_retention_days: retentionDays.optional(),
      topics_policy: topicsPolicy.optional(),
      folder_id: folderId.optional(),
      ...groupUpdateParameters,
    },
    handle: ({ realm, me, path, input }) => {
      changeChannel(realm, me, path.stream_id, {
        name: input.new_name,
        description: input.description,
        isPrivate: input.is_private,
        isWebPublic: input.is_web_public,
        historyPublicToSubscribers: input.history_public_to_subscribers,
        isDefault: input.is_default_stream,
        isArchived: input.is_archived,
        messageRetentionDays: input.message_retention_days,
        topicsPolicy: input.topics_policy,
        folderId: input.folder_id,
        groups: givenGroups(input),
      })
      return {}
    },
  }),
  declare({
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
    method: 'GET',
    path: '/streams/:stream_id/members',
    isExpensive: true,
    who: 'account',
    segments: channelPath,
    handle: ({ realm, me, path }) => ({ subscribers: subscriberIds(realm, findChannel(realm, me, path.stream_id)) }),
  }),
  declare({
    method: 'GET',
    path: '/streams/:stream_id/email_address',
    who: 'account',
    segments: channelPath,
    parameters: { sender_id: integer().optional() },
    handle: ({ realm, me, path, input }) => ({
      email: channelAddress(realm, me, path.stream_id, input.sender_id ?? me.id),
    }),
  }),
  declare({
    method: 'GET',
    path: '/get_stream_id',
    who: 'account',
    parameters: { stream: text() },
    handle: ({ realm, me, input }) => ({ stream_id: findChannelByName(realm, me, input.stream).id }),
  }),
  declare({
    method: 'POST',
    path: '/channels/create',
    who: 'account',
    parameters: {
      name: nameText('channel name'),
      description: prose().default(''),
      subscribers: json(z.array(z.int()).max(SUBSCRIBERS_MAX)),
      announce: boolean().default(false),
      ...newChannelParameters,
      send_new_subscription_messages: boolean().default(true),
    },
    handle: ({ realm, me, input }) =>
      realm.transaction((turn) => {
        const { name, description, subscribers } = input
        const settings = newChannelSettings(input)
        const { channel, added } = createWithSubscribers(realm, turn, me, { name, description }, subscribers, settings)
        if (input.announce) announceChannels(realm, turn, me, [channel])
        const tells = input.send_new_subscription_messages && tellNewSubscribers(realm, turn, me, added)
        return { id: channel.id, new_subscription_messages_sent: tells }
      }),
  }),
]
