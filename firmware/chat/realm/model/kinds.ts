/**
 * All kinds of records with their key functions. A kind added here is loaded at unlock, readable as `state.<kind>` and written by
 * `tx.put('<kind>', record)`.
 */

import type { Key } from './collection.ts'
import { fold } from './names.ts'
import type {
  ApiKey,
  BotCall,
  BotStorage,
  Channel,
  ChannelFolder,
  ClientDevice,
  DefaultChannelGroup,
  DirectConversation,
  Draft,
  Erasure,
  Group,
  Invitation,
  Linkifier,
  MutedUser,
  NavigationView,
  OfUser,
  Organization,
  Password,
  PasswordLink,
  Playground,
  Presence,
  ProfileField,
  PushDevice,
  PushToken,
  RealmDomain,
  RealmEmoji,
  RealmExport,
  Reminder,
  SavedSnippet,
  ScheduledMessage,
  Subscription,
  User,
  UserStatus,
  UserTopic,
  WebPushSubscription,
} from './records.ts'

type KeyOf<T> = (record: T) => Key

const kind = <T>(keyOf: KeyOf<T>): KeyOf<T> => keyOf
const ofUser =
  <T>(): KeyOf<OfUser<T>> =>
  ({ userId }) =>
    userId

export const KINDS = {
  organization: kind<Organization>(({ id }) => id),
  user: kind<User>(({ id }) => id),
  password: kind<Password>(({ userId }) => userId),
  passwordLink: kind<PasswordLink>(({ userId }) => userId),
  apiKey: kind<ApiKey>(({ hash }) => hash),
  group: kind<Group>(({ id }) => id),
  invitation: kind<Invitation>(({ id }) => id),
  channel: kind<Channel>(({ id }) => id),
  channelFolder: kind<ChannelFolder>(({ id }) => id),
  defaultChannelGroup: kind<DefaultChannelGroup>(({ id }) => id),
  subscription: kind<Subscription>(({ userId, channelId }) => `${userId}:${channelId}`),
  conversation: kind<DirectConversation>(({ recipientId }) => recipientId),
  userTopic: kind<UserTopic>(({ userId, channelId, topicName }) => `${userId}:${channelId}:${fold(topicName)}`),
  alertWords: ofUser<readonly string[]>(),
  mutedUsers: ofUser<readonly MutedUser[]>(),
  userStatus: ofUser<UserStatus>(),
  onboardingSteps: ofUser<readonly string[]>(),
  /** Names of settings that the user has changed at least once. */
  editedSettings: ofUser<readonly string[]>(),
  presence: kind<Presence>(({ userId }) => userId),
  realmExport: kind<RealmExport>(({ id }) => id),
  realmEmoji: kind<RealmEmoji>(({ id }) => id),
  draft: kind<Draft>(({ id }) => id),
  scheduledMessage: kind<ScheduledMessage>(({ id }) => id),
  reminder: kind<Reminder>(({ id }) => id),
  savedSnippet: kind<SavedSnippet>(({ id }) => id),
  navigationView: kind<NavigationView>(({ userId, fragment }) => `${userId}:${fragment}`),
  botCall: kind<BotCall>(({ id }) => id),
  erasure: kind<Erasure>(({ userId }) => userId),
  linkifier: kind<Linkifier>(({ id }) => id),
  playground: kind<Playground>(({ id }) => id),
  realmDomain: kind<RealmDomain>(({ domain }) => domain),
  profileField: kind<ProfileField>(({ id }) => id),
  pushToken: kind<PushToken>(({ userId, kind, token }) => `${userId}:${kind}:${token}`),
  pushDevice: kind<PushDevice>(({ userId, accountId }) => `${userId}:${accountId}`),
  clientDevice: kind<ClientDevice>(({ id }) => id),
  webPush: kind<WebPushSubscription>(({ keyId }) => keyId),
  botStorage: kind<BotStorage>(({ userId, name }) => `${userId}:${name}`),
} as const

export type RecordKind = keyof typeof KINDS
export type RecordOf<K extends RecordKind> = (typeof KINDS)[K] extends KeyOf<infer T> ? T : never
