/** Rights of users in channels at present. Contract sections 7.1 and 7.2. */

import type { ChannelGroupSetting } from '../model/group-settings.ts'
import type { Realm } from '../model/realm.ts'
import type { Channel, User } from '../model/records.ts'
import { atLeast, ROLES } from '../model/roles.ts'
import { organizationOf } from '../model/state.ts'
import {
  type AccessSettings,
  type ChannelAccess,
  type ChannelRelation,
  channelKind,
  hasAccess,
} from './channel-access.ts'
import { channelRightTest, mayInChannel, mayInRealm } from './group-rights.ts'

/** True if the user may see the channel, its name and its subscribers. `user` is null for spectators, here and below. */
export const canSee = (realm: Realm, user: User | null, channel: Channel): boolean =>
  has('metadata', realm, user, channel)

/** True if the user may read its messages: in a channel with protected history only received ones, see permissions/visibility.ts. */
export const canRead = (realm: Realm, user: User | null, channel: Channel): boolean =>
  has('content', realm, user, channel)

/** `canSee` and `canRead` for many users of one channel: each group is read once. */
export const seesTest = (realm: Realm, channel: Channel): ((user: User) => boolean) =>
  accessTest('metadata', realm, channel)

export const readsTest = (realm: Realm, channel: Channel): ((user: User) => boolean) =>
  accessTest('content', realm, channel)

export const canSubscribe = (realm: Realm, user: User, channel: Channel): boolean =>
  has('subscribe', realm, user, channel)

export const isSubscribed = (realm: Realm, user: User, channel: Channel): boolean =>
  realm.state.subscribersOf.get(channel.id).has(user.id)

export const canAdminister = (realm: Realm, user: User, channel: Channel): boolean =>
  canSee(realm, user, channel) &&
  (atLeast(user.role, ROLES.administrator) || mayInChannel(realm, channel, 'can_administer_channel_group', user))

/**
 * Channel administrators may add subscribers only if they can read the channel. Otherwise they could give others access to messages that
 * they may not read themselves.
 */
export const canAddSubscribers = (realm: Realm, user: User, channel: Channel): boolean =>
  canSee(realm, user, channel) &&
  (mayInChannel(realm, channel, 'can_add_subscribers_group', user) ||
    (!channel.isPrivate && mayInRealm(realm, 'can_add_subscribers_group', user)) ||
    (canRead(realm, user, channel) && canAdminister(realm, user, channel)))

export const canRemoveSubscribers = (realm: Realm, user: User, channel: Channel): boolean =>
  canSee(realm, user, channel) &&
  (mayInChannel(realm, channel, 'can_remove_subscribers_group', user) || canAdminister(realm, user, channel))

function has(
  access: ChannelAccess,
  realm: Realm,
  user: User | null,
  channel: Channel,
  may: (setting: ChannelGroupSetting, user: User) => boolean = (setting, user) =>
    mayInChannel(realm, channel, setting, user),
): boolean {
  const kind = channelKind({ invite_only: channel.isPrivate, is_web_public: channel.isWebPublic })
  return hasAccess(access, kind, standingOf(realm, user, channel, may), accessSettings(realm))
}

function accessTest(access: ChannelAccess, realm: Realm, channel: Channel): (user: User) => boolean {
  const tests = new Map<ChannelGroupSetting, (user: User) => boolean>()
  const may = (setting: ChannelGroupSetting, user: User): boolean => {
    const test = tests.get(setting) ?? channelRightTest(realm, channel, setting)
    tests.set(setting, test)
    return test(user)
  }
  return (user) => has(access, realm, user, channel, may)
}

function accessSettings(realm: Realm): AccessSettings {
  const { settings, operator } = organizationOf(realm.state)
  return {
    spectators: settings.enable_spectator_access === true,
    ownerFullContentAccess: operator.ownerFullContentAccess,
  }
}

/** The group rights are getters: a register answer checks every channel, and only some checks need the groups. */
function standingOf(
  realm: Realm,
  user: User | null,
  channel: Channel,
  may: (setting: ChannelGroupSetting, user: User) => boolean,
): ChannelRelation {
  const inGroup = (setting: ChannelGroupSetting): boolean => user !== null && channel.isPrivate && may(setting, user)
  return {
    who: user === null ? 'spectator' : whoIs(user),
    subscribed: user !== null && isSubscribed(realm, user, channel),
    get administersChannel() {
      return inGroup('can_administer_channel_group')
    },
    get addsSubscribers() {
      return inGroup('can_add_subscribers_group')
    },
    get mayJoin() {
      return inGroup('can_subscribe_group')
    },
  }
}

function whoIs({ role }: User): ChannelRelation['who'] {
  if (role === ROLES.owner) return 'owner'
  if (role === ROLES.administrator) return 'administrator'
  return role === ROLES.guest ? 'guest' : 'member'
}
