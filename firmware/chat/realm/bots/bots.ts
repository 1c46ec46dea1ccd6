/** Creating and changing bots. Contract section 3.5, rows E90 to E93. Functions with a parameter `tx` run within a transaction. */

import { badRequest, type ChatError, forbidden, invalidParameter, notFound } from '../../base/error.ts'
import type { Realm } from '../model/realm.ts'
import type { Bot, User } from '../model/records.ts'
import { atLeast, ROLES, type Role } from '../model/roles.ts'
import { organizationOf } from '../model/state.ts'
import type { Transaction } from '../model/transaction.ts'
import { botLocalPart } from '../model/user-names.ts'
import { publishBot, publishBotGone, publishBotUpdate } from '../objects/bot-events.ts'
import { giveKey, renewKey, replaceKey } from '../objects/bot-keys.ts'
import {
  BOT_TYPES,
  type BotType,
  changedService,
  type GivenService,
  newService,
  type ServiceChange,
  servicesOf,
} from '../objects/bot-services.ts'
import { type BotUser, botAvatarUrl, defaultsOf, isBot, managersOf, mayManage } from '../objects/bot-view.ts'
import { makeKey } from '../objects/keys.ts'
import { publishPerson } from '../objects/user-events.ts'
import { deactivate, reactivate } from '../organization/users/activity.ts'
import { setPicture } from '../organization/users/avatar-pictures.ts'
import { addUser, changeName, changeRole, limitRole, putAddresses } from '../organization/users/change.ts'
import { findChannelByName } from '../permissions/channel-find.ts'
import { mayInRealm } from '../permissions/group-rights.ts'
import { mayAccess } from '../permissions/user-access.ts'
import { addressHost, expectFreeAddress } from '../permissions/user-addresses.ts'

/** Channel names; '' clears the default. */
interface GivenDefaults {
  default_sending_stream: string | undefined
  default_events_register_stream: string | undefined
  default_all_public_streams: boolean | undefined
}

interface NewBot extends GivenDefaults {
  fullName: string
  shortName: string
  type: BotType
  service: GivenService
}

/** Throws `BAD_REQUEST` if the name or address is taken, and if the caller may not create bots of this type. */
export function createBot(realm: Realm, tx: Transaction, me: User, input: NewBot): { bot: BotUser; key: string } {
  if (!mayCreate(realm, me, input.type)) throw forbidden('Insufficient permission')
  const email = botAddress(realm, input.shortName)
  expectFreeBotName(realm, input.fullName, null)
  const service = newService(realm, input.type, input.service)
  const none = { type: input.type, ownerId: me.id, ...NO_DEFAULTS, ...(service && { service }) }
  const bot = { ...none, ...chosenDefaults(realm, me, input) }
  const user = addUser(realm, tx, { email, fullName: input.fullName, role: ROLES.member, bot })
  const key = makeKey(realm, tx, user, 'bot')
  publishBot(realm, tx, user as BotUser, managersOf(realm, user))
  return { bot: user as BotUser, key }
}

/** Incoming webhooks can only send, so a second group setting grants their creation. */
const mayCreate = (realm: Realm, me: User, type: BotType): boolean =>
  mayInRealm(realm, 'can_create_bots_group', me) ||
  (type === BOT_TYPES.incomingWebhook && mayInRealm(realm, 'can_create_write_only_bots_group', me))

const NO_DEFAULTS = {
  defaultSendingStreamId: null,
  defaultEventsRegisterStreamId: null,
  defaultAllPublicStreams: false,
} as const

/** Throws the same error for unknown bots and for bots of others, so that callers cannot probe ids. */
export function findManagedBot(realm: Realm, me: User, id: number): BotUser {
  const user = realm.state.user.get(id)
  if (user === undefined || !mayManage(me, user)) throw noSuchBot()
  return user
}

const noSuchBot = (): ChatError => badRequest('No such bot')

interface BotChange extends GivenDefaults {
  fullName: string | undefined
  shortName: string | undefined
  role: Role | undefined
  ownerId: number | undefined
  service: ServiceChange
}

export function changeBot(realm: Realm, tx: Transaction, me: User, id: number, change: BotChange): BotUser {
  let bot = findManagedBot(realm, me, id)
  if (change.fullName !== undefined) bot = changeBotName(realm, tx, bot, change.fullName)
  if (change.shortName !== undefined) bot = changeShortName(realm, tx, bot, change.shortName)
  if (change.role !== undefined) bot = changeBotRole(realm, tx, me, bot, change.role)
  bot = changeDefaults(realm, tx, me, bot, change)
  bot = changeService(realm, tx, bot, change.service)
  if (change.ownerId !== undefined) bot = changeOwner(realm, tx, me, bot, change.ownerId)
  return bot
}

function changeBotName(realm: Realm, tx: Transaction, bot: BotUser, name: string): BotUser {
  expectFreeBotName(realm, name, bot)
  const after = changeName(realm, tx, bot, name) as BotUser
  if (after !== bot) publishBotUpdate(realm, tx, after, { full_name: after.fullName })
  return after
}

/** A mention could not tell two active bots with the same name apart. */
export function expectFreeBotName(realm: Realm, input: string, bot: User | null): void {
  const name = input.trim()
  for (const other of realm.state.user.all()) {
    if (other.bot !== null && other.isActive && other.id !== bot?.id && other.fullName === name)
      throw badRequest('Name is already in use.')
  }
}

/** Since level 447. */
function changeShortName(realm: Realm, tx: Transaction, bot: BotUser, shortName: string): BotUser {
  const deliveryEmail = botAddress(realm, shortName, bot)
  return deliveryEmail === bot.deliveryEmail
    ? bot
    : (putAddresses(realm, tx, bot, { ...bot, deliveryEmail }) as BotUser)
}

function botAddress(realm: Realm, shortName: string, bot: User | null = null): string {
  const local = botLocalPart(shortName)
  if (local === null) throw invalidParameter('short_name', 'short_name is not a valid mailbox name')
  const email = `${local}@${addressHost(organizationOf(realm.state))}`
  expectFreeAddress(realm, email, bot?.id ?? null)
  return email
}

/** Since level 130. */
function changeBotRole(realm: Realm, tx: Transaction, me: User, bot: BotUser, role: Role): BotUser {
  if (!atLeast(me.role, ROLES.administrator)) throw forbidden('Must be an organization administrator')
  return changeRole(realm, tx, me, bot, role) as BotUser
}

function changeDefaults(realm: Realm, tx: Transaction, me: User, bot: BotUser, input: GivenDefaults): BotUser {
  const chosen = chosenDefaults(realm, me, input)
  if (Object.keys(chosen).length === 0) return bot
  const after = { ...bot, bot: { ...bot.bot, ...chosen } }
  tx.put('user', after)
  const [old, now] = [defaultsOf(realm, bot), defaultsOf(realm, after)]
  for (const [name, value] of Object.entries(now)) {
    if (old[name as keyof typeof old] !== value) publishBotUpdate(realm, tx, after, { [name]: value })
  }
  return after
}

function changeService(realm: Realm, tx: Transaction, bot: BotUser, change: ServiceChange): BotUser {
  const service = changedService(bot.bot, change)
  if (service === undefined || service === bot.bot.service) return bot
  const after = { ...bot, bot: { ...bot.bot, service } }
  tx.put('user', after)
  publishBotUpdate(realm, tx, after, { services: servicesOf(realm, after.bot) })
  return after
}

/** Resolves channels that the caller can see. Throws `STREAM_DOES_NOT_EXIST`. */
function chosenDefaults(realm: Realm, me: User, input: GivenDefaults): Partial<Bot> {
  const idOf = (name: string) => (name === '' ? null : findChannelByName(realm, me, name).id)
  const { default_sending_stream: sending, default_events_register_stream: events } = input
  return {
    ...(sending !== undefined && { defaultSendingStreamId: idOf(sending) }),
    ...(events !== undefined && { defaultEventsRegisterStreamId: idOf(events) }),
    ...(input.default_all_public_streams !== undefined && {
      defaultAllPublicStreams: input.default_all_public_streams,
    }),
  }
}

/**
 * Only administrators may change the owner. The bot gets a new key and no right that its new owner lacks, and stays in its channels (level
 * 359). Clients of former managers receive an event that removes the bot.
 */
function changeOwner(realm: Realm, tx: Transaction, me: User, bot: BotUser, ownerId: number): BotUser {
  const owner = realm.state.user.get(ownerId)
  if (owner === undefined || owner.isSystemBot) throw badRequest('Failed to change owner, no such user')
  if (!owner.isActive) throw badRequest('Failed to change owner, user is deactivated')
  if (isBot(owner)) throw badRequest("Failed to change owner, bots can't own other bots")
  if (ownerId === bot.bot.ownerId) return bot
  if (!atLeast(me.role, ROLES.administrator)) throw forbidden('Must be an organization administrator')
  const before = new Set(managersOf(realm, bot))
  const limited = limitRole(realm, tx, bot, owner) as BotUser
  const after = { ...limited, bot: { ...limited.bot, ownerId } }
  tx.put('user', after)
  replaceKey(realm, tx, after)
  tx.onCommit(() => realm.events.dropQueuesOf(bot.id))
  const now = new Set(managersOf(realm, after))
  publishBotGone(tx, after, before.difference(now))
  publishBot(realm, tx, after, now.difference(before))
  publishBotUpdate(realm, tx, after, { owner_id: ownerId }, { to: now.intersection(before) })
  publishPerson(realm, tx, after, { bot_owner_id: ownerId })
  return after
}

export function setBotPicture(realm: Realm, tx: Transaction, bot: BotUser, bytes: Uint8Array): BotUser {
  const after = setPicture(realm, tx, bot, bytes) as BotUser
  publishBotUpdate(realm, tx, after, { avatar_url: botAvatarUrl(realm, after) })
  return after
}

export function deactivateBot(realm: Realm, tx: Transaction, me: User, id: number): void {
  deactivate(realm, tx, findManagedBot(realm, me, id))
}

/** If the owner is deactivated, the caller becomes the owner, as in Zulip. */
export function reactivateBot(realm: Realm, tx: Transaction, me: User, bot: BotUser): void {
  const owner = bot.bot.ownerId === null ? undefined : realm.state.user.get(bot.bot.ownerId)
  reactivate(realm, tx, owner?.isActive ? bot : changeOwner(realm, tx, me, bot, me.id))
}

/** Throws 404 if `me` cannot access the bot, 403 if others manage it. */
export function keyOfBot(realm: Realm, me: User, id: number): string {
  return realm.transaction((tx) => {
    const bot = realm.state.user.get(id)
    if (bot === undefined || !isBot(bot) || bot.isSystemBot || !mayAccess(realm, me, bot)) throw notFound('No such bot')
    if (!mayManage(me, bot)) throw forbidden('Insufficient permission')
    return giveKey(realm, tx, me, bot)
  })
}

/** Revokes the old key. */
export function newBotKey(realm: Realm, tx: Transaction, me: User, id: number): string {
  const bot = findManagedBot(realm, me, id)
  return renewKey(realm, tx, bot, bot.bot.ownerId === me.id ? undefined : me.id)
}
