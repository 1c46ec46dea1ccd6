/** The realm in memory: records by kind, and indexes. Messages are on disk: see store/messages.ts. */

import { AlertWords } from '../../render/alert-words.ts'
import { CompiledLinkifier, type Linkifiers } from '../../render/linkifiers.ts'
import type { Things } from '../../store/objects.ts'
import {
  createCollection,
  type GroupIndex,
  groupBy,
  type Index,
  indexBy,
  type MutableCollection,
  type RecordCollection,
} from './collection.ts'
import { closeGroups, type GroupClosure } from './group-closure.ts'
import { KINDS, type RecordKind, type RecordOf } from './kinds.ts'
import { fold } from './names.ts'
import {
  type ApiKey,
  type BotCall,
  type BotStorage,
  type Channel,
  type ClientDevice,
  type DirectConversation,
  type Draft,
  type Group,
  type Invitation,
  type Linkifier,
  type NavigationView,
  type OfUser,
  type Organization,
  type PasswordLink,
  type PushDevice,
  type PushToken,
  REALM_ID,
  type Reminder,
  type SavedSnippet,
  type ScheduledMessage,
  type Subscription,
  type User,
  type UserTopic,
  type WebPushSubscription,
} from './records.ts'
import { createUsage, type Usage } from './usage.ts'

type Collections = { readonly [K in RecordKind]: RecordCollection<RecordOf<K>> }
export type MutableCollections = { readonly [K in RecordKind]: MutableCollection<RecordOf<K>> }

export interface RealmState extends Collections {
  /** Addresses are in lower case. */
  readonly userByEmail: Index<string, User>
  readonly userByDeliveryEmail: Index<string, User>
  /** Keys are folded names, members are user ids. Several users may have the same name. */
  readonly usersByName: GroupIndex<string, number, User>
  readonly botsOf: GroupIndex<number, number, User>
  readonly keysOf: GroupIndex<number, string, ApiKey>
  /** Keys are folded: see names.ts. Archived channels are included. */
  readonly groupByName: Index<string, Group>
  readonly groupClosure: GroupClosure
  readonly channelByName: Index<string, Channel>
  readonly channelByRecipient: Index<number, Channel>
  /** Members are channel ids. Inactive subscriptions are included. */
  readonly subscriptionsOf: GroupIndex<number, number, Subscription>
  /** Number of changes of users, groups, channels and subscriptions since the start. */
  readonly memberChanges: () => number
  /** Members are ids of users who are subscribed now. */
  readonly subscribersOf: GroupIndex<number, number, Subscription>
  /** Members are ids of users who are or were subscribed. */
  readonly everSubscribedTo: GroupIndex<number, number, Subscription>
  /** Keys are user ids, ascending and joined by commas. */
  readonly conversationByUsers: Index<string, DirectConversation>
  readonly invitationByHash: Index<string, Invitation>
  readonly passwordLinkByHash: Index<string, PasswordLink>
  readonly conversationsOf: (userId: number) => Iterable<DirectConversation>
  readonly userTopicsOf: GroupIndex<number, string, UserTopic>
  /** Keys are made by `topicKey`, members are user ids. */
  readonly userTopicsIn: GroupIndex<string, number, UserTopic>
  /** All users' alert words. Rebuilt at the first call after a change. */
  readonly alertWordIndex: () => AlertWords
  /** In their configured order. Rebuilt at the first call after a change. */
  readonly linkifiers: () => Linkifiers
  /** Members are `kind:token`. */
  readonly pushTokensOf: GroupIndex<number, string, PushToken>
  /** Members are the account ids that the client chose. */
  readonly pushDevicesOf: GroupIndex<number, number, PushDevice>
  readonly clientDevicesOf: GroupIndex<number, number, ClientDevice>
  /** Members are ids of sessions. */
  readonly webPushOf: GroupIndex<number, number, WebPushSubscription>
  readonly webPushByEndpoint: Index<string, WebPushSubscription>
  readonly draftsOf: GroupIndex<number, number, Draft>
  readonly savedSnippetsOf: GroupIndex<number, number, SavedSnippet>
  readonly scheduledMessagesOf: GroupIndex<number, number, ScheduledMessage>
  readonly remindersOf: GroupIndex<number, number, Reminder>
  /** Keys are message ids, members are reminder ids. */
  readonly remindersAbout: GroupIndex<number, number, Reminder>
  /** Unix time in seconds at which the first scheduled message or reminder is due; infinity if there are none. */
  readonly nextDue: () => number
  readonly navigationViewsOf: GroupIndex<number, string, NavigationView>
  readonly callsOf: GroupIndex<number, number, BotCall>
  readonly botStorageOf: GroupIndex<number, string, BotStorage>
}

/** Throws if a record has an unknown kind. */
export function loadState(things: Things): { state: RealmState; collections: MutableCollections; usage: Usage } {
  const collections = Object.fromEntries(
    Object.keys(KINDS).map((kind) => [kind, createCollection(kind)]),
  ) as unknown as MutableCollections
  const state: RealmState = { ...collections, ...createIndexes(collections) }
  const usage = createUsage(collections, (owner) => state.botsOf.get(owner).keys())
  for (const { kind, json } of things.all()) {
    if (!(kind in KINDS)) throw new Error(`Unknown kind of record: ${kind}`)
    load(collections, kind as RecordKind, JSON.parse(json))
  }
  return { state, collections, usage }
}

function load<K extends RecordKind>(collections: MutableCollections, kind: K, record: RecordOf<K>): void {
  const keyOf = KINDS[kind] as (record: RecordOf<K>) => string | number
  collections[kind].set(keyOf(record), record)
}

function createIndexes(collections: MutableCollections) {
  const { user, apiKey, group, channel, subscription, conversation, userTopic, alertWords, botStorage } = collections
  const { draft, savedSnippet, navigationView, scheduledMessage, reminder } = collections
  const { linkifier, pushToken, pushDevice, clientDevice, webPush, botCall, invitation, passwordLink } = collections
  return {
    userByEmail: indexBy(user, ({ email }) => email.toLowerCase()),
    userByDeliveryEmail: indexBy(user, ({ deliveryEmail }) => deliveryEmail.toLowerCase()),
    usersByName: groupBy(
      user,
      ({ fullName }) => fold(fullName),
      ({ id }) => id,
    ),
    botsOf: groupBy(
      user,
      ({ bot }) => bot?.ownerId ?? null,
      ({ id }) => id,
    ),
    keysOf: groupBy(
      apiKey,
      ({ userId }) => userId,
      ({ hash }) => hash,
    ),
    groupClosure: closeGroups(group),
    groupByName: indexBy(group, ({ name }) => fold(name)),
    channelByName: indexBy(channel, ({ name }) => fold(name)),
    channelByRecipient: indexBy(channel, ({ recipientId }) => recipientId),
    subscriptionsOf: groupBy(
      subscription,
      ({ userId }) => userId,
      ({ channelId }) => channelId,
    ),
    memberChanges: countChanges([user, group, channel, subscription]),
    subscribersOf: groupBy(
      subscription,
      ({ channelId, isActive }) => (isActive ? channelId : null),
      ({ userId }) => userId,
    ),
    everSubscribedTo: groupBy(
      subscription,
      ({ channelId }) => channelId,
      ({ userId }) => userId,
    ),
    invitationByHash: indexBy(invitation, ({ hash }) => hash),
    passwordLinkByHash: indexBy(passwordLink, ({ hash }) => hash),
    conversationByUsers: indexBy(conversation, ({ userIds }) => userIds.join(',')),
    conversationsOf: indexConversations(conversation),
    alertWordIndex: indexAlertWords(alertWords),
    linkifiers: indexLinkifiers(linkifier),
    pushTokensOf: groupBy(
      pushToken,
      ({ userId }) => userId,
      ({ kind, token }) => `${kind}:${token}`,
    ),
    pushDevicesOf: groupBy(
      pushDevice,
      ({ userId }) => userId,
      ({ accountId }) => accountId,
    ),
    clientDevicesOf: groupBy(
      clientDevice,
      ({ userId }) => userId,
      ({ id }) => id,
    ),
    userTopicsOf: groupBy(
      userTopic,
      ({ userId }) => userId,
      ({ channelId, topicName }) => topicKey(channelId, topicName),
    ),
    userTopicsIn: groupBy(
      userTopic,
      ({ channelId, topicName }) => topicKey(channelId, topicName),
      ({ userId }) => userId,
    ),
    webPushOf: groupBy(
      webPush,
      ({ userId }) => userId,
      ({ keyId }) => keyId,
    ),
    webPushByEndpoint: indexBy(webPush, ({ endpoint }) => endpoint),
    draftsOf: groupBy(
      draft,
      ({ userId }) => userId,
      ({ id }) => id,
    ),
    savedSnippetsOf: groupBy(
      savedSnippet,
      ({ userId }) => userId,
      ({ id }) => id,
    ),
    scheduledMessagesOf: groupBy(
      scheduledMessage,
      ({ userId }) => userId,
      ({ id }) => id,
    ),
    remindersOf: groupBy(
      reminder,
      ({ userId }) => userId,
      ({ id }) => id,
    ),
    remindersAbout: groupBy(
      reminder,
      ({ messageId }) => messageId,
      ({ id }) => id,
    ),
    nextDue: indexDue(scheduledMessage, reminder),
    navigationViewsOf: groupBy(
      navigationView,
      ({ userId }) => userId,
      ({ fragment }) => fragment,
    ),
    callsOf: groupBy(
      botCall,
      ({ botId }) => botId,
      ({ id }) => id,
    ),
    botStorageOf: groupBy(
      botStorage,
      ({ userId }) => userId,
      ({ name }) => name,
    ),
  }
}

/** Topic names are compared folded: see names.ts. */
export const topicKey = (channelId: number, topic: string): string => `${channelId}:${fold(topic)}`

function countChanges(collections: readonly { listen(listener: () => void): void }[]): () => number {
  let count = 0
  for (const collection of collections) collection.listen(() => void count++)
  return () => count
}

function indexConversations(collection: MutableCollection<DirectConversation>): RealmState['conversationsOf'] {
  const byUser = new Map<number, Map<number, DirectConversation>>()
  collection.listen((before, after) => {
    if (before !== undefined) for (const id of before.userIds) byUser.get(id)?.delete(before.recipientId)
    if (after === undefined) return
    for (const id of after.userIds) {
      const own = byUser.get(id) ?? new Map<number, DirectConversation>()
      byUser.set(id, own.set(after.recipientId, after))
    }
  })
  return (userId) => byUser.get(userId)?.values() ?? []
}

function indexAlertWords(collection: MutableCollection<OfUser<readonly string[]>>): RealmState['alertWordIndex'] {
  let index: AlertWords | undefined
  collection.listen(() => {
    index = undefined
  })
  return () => {
    index ??= new AlertWords(
      [...collection.all()].flatMap(({ userId, value }) => value.map((word) => [userId, word] as const)),
    )
    return index
  }
}

function indexLinkifiers(collection: MutableCollection<Linkifier>): RealmState['linkifiers'] {
  let compiled: Linkifiers | undefined
  collection.listen(() => {
    compiled = undefined
  })
  return () => {
    compiled ??= [...collection.all()].sort((a, b) => a.order - b.order).map((one) => new CompiledLinkifier(one))
    return compiled
  }
}

/** Computed at the first call after a change; the caller asks once a second. */
function indexDue(
  scheduled: MutableCollection<ScheduledMessage>,
  reminders: MutableCollection<Reminder>,
): RealmState['nextDue'] {
  let next: number | undefined
  const forget = () => {
    next = undefined
  }
  scheduled.listen(forget)
  reminders.listen(forget)
  return () => {
    if (next !== undefined) return next
    next = Number.POSITIVE_INFINITY
    for (const { time, failed } of scheduled.all()) if (!failed && time < next) next = time
    for (const { time } of reminders.all()) if (time < next) next = time
    return next
  }
}

/** Throws if the organization does not exist yet; the chat then accepts no requests. */
export function organizationOf(state: RealmState): Organization {
  const organization = state.organization.get(REALM_ID)
  if (organization === undefined) throw new Error('There is no organization')
  return organization
}
