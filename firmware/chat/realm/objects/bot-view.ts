/** Bots as their owners and administrators see them. Contract section 2.5. */

import type { Realm } from '../model/realm.ts'
import type { Bot, User } from '../model/records.ts'
import { atLeast, ROLES } from '../model/roles.ts'
import { avatarUrl } from './avatar-url.ts'
import { servicesOf } from './bot-services.ts'

export interface BotUser extends User {
  readonly bot: Bot
}

export const isBot = (user: User): user is BotUser => user.bot !== null

const channelName = (realm: Realm, id: number | null): string | null =>
  (id !== null && realm.state.channel.get(id)?.name) || null

export const defaultsOf = (realm: Realm, { bot }: BotUser) => ({
  default_sending_stream: channelName(realm, bot.defaultSendingStreamId),
  default_events_register_stream: channelName(realm, bot.defaultEventsRegisterStreamId),
  default_all_public_streams: bot.defaultAllPublicStreams,
})

export const botAvatarUrl = (realm: Realm, bot: User): string | null => avatarUrl(realm, bot, { clientGravatar: false })

/** Without the key, which must not be in a register answer: see `keyFor` of bot-keys.ts. */
export const botObject = (realm: Realm, user: BotUser) => ({
  user_id: user.id,
  email: user.email,
  full_name: user.fullName,
  bot_type: user.bot.type,
  is_active: user.isActive,
  avatar_url: botAvatarUrl(realm, user),
  owner_id: user.bot.ownerId,
  ...defaultsOf(realm, user),
  services: servicesOf(realm, user.bot),
})

/**
 * Owners manage their bots. Administrators manage bots whose role is not above their own, because a manager can act as the bot. System bots
 * cannot be managed.
 */
export const mayManage = (viewer: User, user: User): user is BotUser =>
  isBot(user) &&
  !user.isSystemBot &&
  viewer.bot === null &&
  (user.bot.ownerId === viewer.id || (atLeast(viewer.role, ROLES.administrator) && atLeast(viewer.role, user.role)))

export const managedBots = (realm: Realm, viewer: User): BotUser[] =>
  [...realm.state.user.all()].filter((user) => mayManage(viewer, user))

/** Recipients of events about the bot: its owner and the administrators who may manage it. */
export function* managersOf(realm: Realm, bot: User): Generator<number> {
  for (const user of realm.state.user.all()) if (user.isActive && mayManage(user, bot)) yield user.id
}
