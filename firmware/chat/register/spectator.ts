/** The snapshot for a spectator: the organization, its users without addresses, and web-public channels. Contract 4.2. */

import { channelView } from '../realm/objects/channel-view.ts'
import { spectatorObject, systemBotObject } from '../realm/objects/user-view.ts'
import { visibleChannels } from '../realm/permissions/channel-find.ts'
import { spectatorAccess } from '../realm/permissions/user-access.ts'
import { giphy, realmFilters, stopWords, tenor } from './absent-features.ts'
import { realmEmoji } from './emoji.ts'
import { realmLinkifiers, realmPlaygrounds } from './organization.ts'
import { realm } from './realm.ts'
import type { OpenContext, OpenRegisterSection } from './section.ts'
import { realmDefaults } from './settings.ts'

const channelsOf = ({ realm, shape }: OpenContext) =>
  visibleChannels(realm, null, shape.can.archived_channels).map((channel) => channelView(realm, channel))

const subscription: OpenRegisterSection = (context) => ({
  subscriptions: [],
  unsubscribed: [],
  never_subscribed: channelsOf(context),
})

const realmUser: OpenRegisterSection = ({ realm }) => {
  const mayAccess = spectatorAccess(realm)
  const people = [...realm.state.user.all()].filter((user) => !user.isSystemBot && mayAccess(user))
  const forms = (isActive: boolean) =>
    people
      .filter((user) => user.isActive === isActive)
      .map((user) => {
        const { is_active: _, ...form } = spectatorObject(realm, user)
        return form
      })
  const bots = [...realm.state.user.all()].filter((user) => user.isSystemBot)
  return {
    realm_users: forms(true),
    realm_non_active_users: forms(false),
    cross_realm_bots: bots.map((bot) => systemBotObject(realm, bot)),
  }
}

export const SPECTATOR_BLOCKS: Readonly<Record<string, OpenRegisterSection>> = {
  giphy,
  realm,
  realm_emoji: realmEmoji,
  realm_filters: realmFilters,
  realm_linkifiers: realmLinkifiers,
  realm_playgrounds: realmPlaygrounds,
  realm_user: realmUser,
  realm_user_settings_defaults: realmDefaults,
  stop_words: stopWords,
  stream: (context) => ({ streams: channelsOf(context) }),
  subscription,
  tenor,
}
