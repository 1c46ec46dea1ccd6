/** Subscriptions to channels. Contract section 3.3, rows E51 to E55, E58, E59. */

import { z } from 'zod'
import { defined } from '../../base/defined.ts'
import { nameString, textString } from '../base/characters.ts'
import { badRequest } from '../base/error.ts'
import { boolean, integer, json, oneOf } from '../pipeline/parameters.ts'
import type { Realm } from '../realm/model/realm.ts'
import type { User } from '../realm/model/records.ts'
import { type IncludeSubscribers, subscriptionView } from '../realm/objects/channel-view.ts'
import { announceChannels, tellNewSubscribers } from '../realm/organization/channels/notices.ts'
import { changeProperties, SUBSCRIPTION_PROPERTIES } from '../realm/organization/channels/properties.ts'
import type { SubscriptionPair } from '../realm/organization/channels/subscribe.ts'
import {
  expectMaySubscribe,
  readBeforeLeaving,
  type Subscribed,
  subscribeTo,
  unsubscribeFrom,
} from '../realm/organization/channels/subscriptions.ts'
import { findChannel, visibleChannels } from '../realm/permissions/channel-find.ts'
import { isSubscribed } from '../realm/permissions/channel-rights.ts'
import { findUser } from '../realm/permissions/user-find.ts'
import { newChannelParameters, newChannelSettings, ORDINARY } from './channel-parameters.ts'
import { type AnyDeclaration, declare } from './declare.ts'

const CHANNELS_MAX = 1000
const PRINCIPALS_MAX = 20_000
const CHANGES_MAX = 1000

const channelNames = () => json(z.array(z.string()).max(CHANNELS_MAX))
const principals = () => json(z.array(z.union([z.int(), z.string()])).max(PRINCIPALS_MAX)).optional()

export const subscriptionDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'GET',
    path: '/users/me/subscriptions',
    isExpensive: true,
    who: 'account',
    parameters: { include_subscribers: oneOf('true', 'false', 'partial', '"partial"').default('false') },
    handle: ({ realm, me, input }) => {
      const include = input.include_subscribers.replaceAll('"', '') as IncludeSubscribers
      return { subscriptions: ownSubscriptions(realm, me, include) }
    },
  }),
  declare({
    method: 'POST',
    path: '/users/me/subscriptions',
    who: 'account',
    parameters: {
      subscriptions: json(
        z
          .array(z.object({ name: nameString(), description: textString().optional(), color: nameString().optional() }))
          .max(CHANNELS_MAX),
      ),
      principals: principals(),
      authorization_errors_fatal: boolean().default(true),
      announce: boolean().default(false),
      ...newChannelParameters,
      send_new_subscription_messages: boolean().default(true),
    },
    handle: ({ realm, me, input }) =>
      realm.transaction((turn) => {
        const done = subscribeTo(realm, turn, me, input.subscriptions, {
          principals: input.principals,
          isFatal: input.authorization_errors_fatal,
          settings: newChannelSettings(input),
        })
        if (input.announce) announceChannels(realm, turn, me, done.created)
        const tells = input.send_new_subscription_messages && tellNewSubscribers(realm, turn, me, done.added)
        return {
          ...subscribedAnswer(done),
          new_subscription_messages_sent: tells,
          ...(!input.authorization_errors_fatal && { unauthorized: done.unauthorized }),
        }
      }),
  }),
  declare({
    method: 'PATCH',
    path: '/users/me/subscriptions',
    who: 'account',
    parameters: {
      add: json(
        z
          .array(z.object({ name: nameString(), color: nameString().optional(), description: textString().optional() }))
          .max(CHANNELS_MAX),
      ).default([]),
      delete: channelNames().default([]),
    },
    handle: async (request) => {
      const { realm, input } = request
      if (input.add.length === 0 && input.delete.length === 0)
        throw badRequest('Nothing to do. Specify at least one of "add" or "delete".')
      const options = { principals: undefined, isFatal: true, settings: ORDINARY }
      // Check first: a refusal then changes nothing. If rights are lost while messages are marked, these stay read.
      if (input.delete.length > 0) expectMaySubscribe(realm, request.me, input.add, options)
      await readBeforeLeaving(realm, request.me, input.delete, undefined)
      return realm.transaction((turn) => {
        const { me } = request
        const done = subscribeTo(realm, turn, me, input.add, options)
        const { removed, notRemoved } = unsubscribeFrom(realm, turn, me, input.delete, undefined)
        return { ...subscribedAnswer(done), removed, not_removed: notRemoved, new_subscription_messages_sent: true }
      })
    },
  }),
  declare({
    method: 'DELETE',
    path: '/users/me/subscriptions',
    who: 'account',
    parameters: { subscriptions: channelNames(), principals: principals() },
    handle: async (request) => {
      const { realm, input } = request
      const { subscriptions, principals } = input
      await readBeforeLeaving(realm, request.me, subscriptions, principals)
      return realm.transaction((turn) => {
        const { removed, notRemoved } = unsubscribeFrom(realm, turn, request.me, subscriptions, principals)
        return { removed, not_removed: notRemoved }
      })
    },
  }),
  declare({
    method: 'POST',
    path: '/users/me/subscriptions/properties',
    who: 'account',
    parameters: {
      subscription_data: json(
        z
          .array(
            z.object({
              stream_id: z.int(),
              property: z.enum(SUBSCRIPTION_PROPERTIES),
              value: z.union([z.boolean(), z.string(), z.null()]),
            }),
          )
          .max(CHANGES_MAX),
      ),
    },
    handle: ({ realm, me, input }) => {
      changeProperties(realm, me, input.subscription_data)
      return {}
    },
  }),
  declare({
    method: 'GET',
    path: '/users/:user_id/subscriptions/:stream_id',
    who: 'account',
    segments: { user_id: integer(), stream_id: integer() },
    handle: ({ realm, me, path }) => {
      const user = findUser(realm, me, path.user_id)
      return { is_subscribed: isSubscribed(realm, user, findChannel(realm, me, path.stream_id)) }
    },
  }),
  declare({
    method: 'GET',
    path: '/users/:user_id/channels',
    who: 'account',
    segments: { user_id: integer() },
    handle: ({ realm, me, path }) => {
      const user = findUser(realm, me, path.user_id)
      const channels = visibleChannels(realm, me, true).filter((channel) => isSubscribed(realm, user, channel))
      return { subscribed_channel_ids: channels.map(({ id }) => id).sort((a, b) => a - b) }
    },
  }),
]

function ownSubscriptions(realm: Realm, me: User, include: IncludeSubscribers): Record<string, unknown>[] {
  return visibleChannels(realm, me, false)
    .filter((channel) => isSubscribed(realm, me, channel))
    .map((channel) => {
      const subscription = defined(realm.state.subscriptionsOf.get(me.id).get(channel.id))
      return subscriptionView(realm, me, channel, subscription, { nullable: true }, include)
    })
}

function subscribedAnswer({ added, already }: Subscribed): Record<string, unknown> {
  return { subscribed: namesByUser(added), already_subscribed: namesByUser(already) }
}

function namesByUser(pairs: readonly SubscriptionPair[]): Record<string, string[]> {
  const names: Record<string, string[]> = {}
  for (const { user, channel } of pairs) {
    names[user.id] = [...(names[user.id] ?? []), channel.name]
  }
  return names
}
