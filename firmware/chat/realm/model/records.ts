/**
 * Records of the realm in memory. Records are immutable: a change replaces the record, so a reference stays a consistent snapshot. Times
 * are Unix times in seconds unless stated otherwise. Contract section 2.
 */

import type { JwtAlgorithm } from '../../link/link.ts'
import type { GroupValue } from './group-value.ts'
import type { Role } from './roles.ts'

/** Settings by the names in the contract; absent ones have their defaults. */
export type SettingValue = string | number | boolean | null
export type Settings = Readonly<Record<string, SettingValue>>
export type GroupSettings = Readonly<Record<string, GroupValue>>

/** The id of the only organization, as clients see it. */
export const REALM_ID = 2

export interface Organization {
  readonly id: typeof REALM_ID
  readonly name: string
  /** Without a trailing slash; '' until an administrator sets it. Until then the `host` header of requests is used. */
  readonly url: string
  readonly dateCreated: number
  /** RFC 9562 version 4. Absent in data of an older version until the realm is opened. */
  readonly uuid?: string
  readonly isDeactivated: boolean
  /** Contract section 2.6, without group settings. */
  readonly settings: Settings
  readonly groupSettings: GroupSettings
  /** Defaults of new accounts, contract section 2.7: only those that were changed. Absent if none ever was. */
  readonly userDefaults?: Settings
  /** Uploaded pictures. Absent if there never was one. */
  readonly pictures?: Readonly<Partial<Record<RealmPicture, PictureVersion>>>
  /** Private key for push services (P-256, 32 bytes), sealed (base64). Absent until it is first needed. */
  readonly sealedPushKey?: string
  /** Settings of the appliance's administrator. */
  readonly operator: Operator
}

export type RealmPicture = 'icon' | 'logo' | 'night_logo'

interface PictureVersion {
  /** Increases with each change, so that clients reload the picture. */
  readonly version: number
  readonly isSet: boolean
}

export interface Operator {
  readonly ownerFullContentAccess: boolean
  readonly uploadQuotaMib: number | null
  /** How sign-in tokens are verified. The key is sealed (base64). Absent if it was never set. */
  readonly jwt?: { readonly algorithm: JwtAlgorithm; readonly sealed: string } | null
  /** Hosts that outgoing webhooks may reach, as `host` or `host:port`. Absent if it was never set. */
  readonly outgoingHosts?: readonly string[]
  /** True if messages show images and videos of other hosts. Absent means false. */
  readonly externalPreviews?: boolean
}

export interface User {
  readonly id: number
  /** The address that the API shows: the real one, or `user<id>@<host>`. Contract section 2.2. */
  readonly email: string
  readonly deliveryEmail: string
  readonly fullName: string
  readonly role: Role
  readonly isActive: boolean
  readonly dateJoined: number
  readonly avatarVersion: number
  /** `J`: generated from the id; `U`: uploaded; `G`: Gravatar. */
  readonly avatarSource: 'J' | 'U' | 'G'
  /** Contract section 2.7: only settings that the user has changed. */
  readonly settings: Settings
  /** Keys are field ids. */
  readonly profileData: Readonly<Record<string, ProfileValue>>
  readonly bot: Bot | null
  /** One of the three bots of the service itself: `cross_realm_bots` in the contract. */
  readonly isSystemBot: boolean
  readonly isDeleted: boolean
  /** The account was created by an administrator and never signed in; `dateJoined` is its creation. */
  readonly hasNeverSignedIn?: true
  /** The address was set by an administrator or confirmed by a token. Absent: unknown. Contract section 1.2. */
  readonly isAddressTrusted?: boolean
}

/** Value of a custom profile field. Contract section 2.5. */
export interface ProfileValue {
  /** Text; a list of accounts is JSON. */
  readonly value: string
  /** Rendered HTML, for field types that are rendered. */
  readonly html: string | null
}

export interface Bot {
  /** 1 generic, 2 incoming webhook, 3 outgoing webhook, 4 embedded. */
  readonly type: 1 | 2 | 3 | 4
  readonly ownerId: number | null
  readonly defaultSendingStreamId: number | null
  readonly defaultEventsRegisterStreamId: number | null
  readonly defaultAllPublicStreams: boolean
  /** Types 3 and 4 only: the service that answers for the bot. */
  readonly service?: BotService
}

export type BotService =
  /** Form 1 is Zulip's format, form 2 that of Slack. The token, which authenticates requests to the webhook, is sealed (base64). */
  | {
      readonly kind: 'outgoing'
      readonly url: string
      readonly form: 1 | 2
      readonly sealedToken: string
      /** Feature level of the client that created the bot, if it was an older one; webhook requests follow it. Contract section 8. */
      readonly level?: number
    }
  | { readonly kind: 'embedded'; readonly name: string; readonly config: Readonly<Record<string, string>> }

/** A message that is not yet delivered to a bot's service. */
export interface BotCall {
  readonly id: number
  readonly botId: number
  readonly messageId: number
  readonly trigger: 'direct_message' | 'mention'
  readonly time: number
}

/** A link with which a person sets a new password. Contract row E156. */
export interface PasswordLink {
  readonly userId: number
  /** Hash of the key in the link. */
  readonly hash: string
  /** The administrator whose rights the link has. */
  readonly makerId: number
  /** Unix time in seconds. */
  readonly expires: number
}

/** An invitation for one address, or a link that several people can use. Contract section 2.5. */
export interface Invitation {
  readonly id: number
  /** Hash of the invitation key. The key is also stored sealed, because inviters can see it again. */
  readonly hash: string
  readonly sealedKey: string
  readonly inviterId: number
  readonly time: number
  /** Validity in minutes, and the time at which it ends; null: unlimited. */
  readonly minutes: number | null
  readonly expires: number | null
  /** Null: a link that several people can use. */
  readonly email: string | null
  readonly role: Role
  readonly channelIds: readonly number[]
  readonly groupIds: readonly number[]
  readonly includeDefaults: boolean
  readonly notifyInviter: boolean
  /** Null: the text of the organization's setting. */
  readonly welcomeText: string | null
}

export interface Password {
  readonly userId: number
  readonly salt: string
  readonly hash: string
  readonly cost: { readonly N: number; readonly r: number; readonly p: number }
}

/** A key of an account: only its hash is stored. Keys of bots can be shown again, so they are also stored sealed. */
export interface ApiKey {
  readonly hash: string
  readonly id: number
  readonly userId: number
  readonly client: string
  readonly made: number
  /** Day of the last use, in days since the epoch. */
  readonly usedDay: number
  readonly sealed: string | null
  /** Keys of bots only: administrators other than the bot's owner who received the key. Older versions store one id. */
  readonly givenTo?: readonly number[] | number
  /** Present if this is a session of the chat page rather than a key. */
  readonly session?: PageSession
}

/** Contract section 1.2.1. */
export interface PageSession {
  readonly device: string
  /** True if the cookie outlives the browser. */
  readonly remember: boolean
}

export interface Group {
  readonly id: number
  readonly name: string
  readonly description: string
  readonly dateCreated: number | null
  readonly creatorId: number | null
  readonly members: readonly number[]
  readonly subgroups: readonly number[]
  readonly isSystem: boolean
  readonly isDeactivated: boolean
  readonly groupSettings: GroupSettings
}

/** Contract section 2.3, set C. */
export interface Channel {
  readonly id: number
  readonly recipientId: number
  readonly name: string
  readonly description: string
  readonly renderedDescription: string
  readonly dateCreated: number
  readonly creatorId: number | null
  readonly isPrivate: boolean
  readonly isWebPublic: boolean
  readonly historyPublicToSubscribers: boolean
  readonly isArchived: boolean
  readonly messageRetentionDays: number | null
  readonly topicsPolicy: 'inherit' | 'allow_empty_topic' | 'disable_empty_topic' | 'empty_topic_only'
  readonly folderId: number | null
  readonly firstMessageId: number | null
  readonly isDefault: boolean
  readonly groupSettings: GroupSettings
}

/** Contract section 2.5. */
export interface ChannelFolder {
  readonly id: number
  readonly name: string
  readonly description: string
  readonly renderedDescription: string
  readonly dateCreated: number
  readonly creatorId: number
  readonly order: number
  readonly isArchived: boolean
}

/** Channels that new users can choose as a group. Contract section 2.5. */
export interface DefaultChannelGroup {
  readonly id: number
  readonly name: string
  readonly description: string
  readonly channelIds: readonly number[]
}

/** A current or former subscription of a user. Contract section 2.3, set S. */
export interface Subscription {
  readonly userId: number
  readonly channelId: number
  readonly isActive: boolean
  readonly color: string
  readonly isMuted: boolean
  readonly pinToTop: boolean
  /** Null in these members: the user's settings apply. */
  readonly desktopNotifications: boolean | null
  readonly audibleNotifications: boolean | null
  readonly pushNotifications: boolean | null
  readonly emailNotifications: boolean | null
  readonly wildcardMentionsNotify: boolean | null
  /** The account that first subscribed the user, if it was another one. */
  readonly by?: number
  /**
   * Intervals of the channel's ordinals that the user received, ascending. The last one is open (null) while the user is subscribed and
   * active.
   */
  readonly intervals: readonly (readonly [from: number, to: number | null])[]
}

export interface DirectConversation {
  readonly recipientId: number
  /** Ascending, at least one. */
  readonly userIds: readonly number[]
  /** The sender of the first message. Absent in data of older versions. */
  readonly creatorId?: number
}

/** Contract section 2.5. Policy 0 deletes the record. */
export interface UserTopic {
  readonly userId: number
  readonly channelId: number
  readonly topicName: string
  readonly lastUpdated: number
  readonly policy: 1 | 2 | 3
}

export interface OfUser<T> {
  readonly userId: number
  readonly value: T
}

export interface UserStatus {
  readonly text: string
  readonly emojiName: string
  readonly emojiCode: string
  readonly reactionType: string
}

export interface Presence {
  readonly userId: number
  /** Unix time in seconds; 0 means never. */
  readonly active: number
  readonly idle: number
  /** Increases across all users, for `last_update_id`. */
  readonly updateId: number
}

/** Contract section 2.5. */
export interface Draft {
  readonly id: number
  readonly userId: number
  readonly type: '' | 'stream' | 'private'
  /** One channel id, or user ids; may be empty. */
  readonly to: readonly number[]
  readonly topic: string
  readonly content: string
  readonly timestamp: number
}

/** A message to be sent at `time`. Contract section 2.5. */
export interface ScheduledMessage {
  readonly id: number
  readonly userId: number
  readonly type: 'stream' | 'private'
  /** One channel id, or the recipients except the sender; the sender alone for notes to self. */
  readonly to: readonly number[]
  readonly topic: string
  readonly content: string
  readonly html: string
  readonly time: number
  readonly failed: boolean
  /** Null: derived from the client's name. */
  readonly readBySender: boolean | null
  readonly client: string
}

/** A reminder about a message, due at `time`. Contract section 2.5. */
export interface Reminder {
  readonly id: number
  readonly userId: number
  readonly messageId: number
  readonly note: string
  /** The text of the reminder when it was created; empty once the message is deleted. */
  readonly content: string
  readonly html: string
  readonly time: number
}

export interface SavedSnippet {
  readonly id: number
  readonly userId: number
  readonly title: string
  readonly content: string
  readonly dateCreated: number
}

export interface NavigationView {
  readonly userId: number
  /** The part of the view's URL after `#`. */
  readonly fragment: string
  readonly isPinned: boolean
  /** Null for built-in views, which clients name. */
  readonly name: string | null
}

export interface MutedUser {
  readonly id: number
  readonly timestamp: number
}

export interface RealmEmoji {
  readonly id: number
  readonly name: string
  readonly authorId: number | null
  readonly isDeactivated: boolean
  readonly sourceUrl: string
  readonly stillUrl: string | null
}

export const EXPORT_TYPES = ['public', 'full_with_consent', 'full_without_consent'] as const
export type ExportType = (typeof EXPORT_TYPES)[number]

/** The bytes are stored like those of an upload, under the same id. */
interface ExportedArchive {
  readonly id: number
  /** Below `/user_uploads/`, as for uploads. */
  readonly path: string
  readonly name: string
  readonly sizeBytes: number
}

/** Contract section 2.5. */
export interface RealmExport {
  readonly id: number
  readonly actorId: number
  readonly time: number
  readonly type: ExportType
  /** Null while pending, and after deletion or failure. */
  readonly archive: ExportedArchive | null
  readonly failed: number | null
  readonly deleted: number | null
}

export interface BotStorage {
  readonly userId: number
  readonly name: string
  readonly value: string
}

/** The deletion of messages and other data of an account, in progress. Contract section 3.4.1. */
export interface Erasure {
  readonly userId: number
  readonly publicMessages: boolean
  readonly privateMessages: boolean
  readonly directMessages: boolean
  readonly profile: boolean
  /** Messages up to this id are done. */
  readonly after: number
}

/** Contract section 2.5. */
export interface Linkifier {
  readonly id: number
  readonly pattern: string
  readonly urlTemplate: string
  /** A sample text that matches, and the template that turns a pasted URL into such a text. Absent or null: none. */
  readonly exampleInput?: string | null
  readonly reverseTemplate?: string | null
  /** Further URL templates that are converted in the same way. Absent: none. */
  readonly alternativeUrlTemplates?: readonly string[]
  /** Linkifiers with a lower number are tried first. */
  readonly order: number
}

export interface Playground {
  readonly id: number
  readonly name: string
  readonly language: string
  readonly urlTemplate: string
}

export interface RealmDomain {
  readonly id: number
  readonly domain: string
  readonly allowSubdomains: boolean
}

/** A custom profile field. Contract section 2.5. */
export interface ProfileField {
  readonly id: number
  /** 1 short text, 2 long text, 3 choice, 4 date, 5 link, 6 person, 7 external account, 8 pronouns. */
  readonly type: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8
  readonly name: string
  readonly hint: string
  /** JSON, or '' if the type needs none. */
  readonly fieldData: string
  readonly order: number
  readonly inSummary: boolean
  readonly isRequired: boolean
  readonly isEditable: boolean
}

/** A device registered for unencrypted push notifications with APNs or FCM. */
export interface PushToken {
  readonly userId: number
  readonly kind: 'apns' | 'fcm'
  readonly token: string
  /** Null for FCM. */
  readonly appId: string | null
}

/** A device with a signed-in account. Contract section 2.5. */
export interface ClientDevice {
  readonly id: number
  readonly userId: number
  readonly keyId: number
  /** The key that encrypts notifications. Null until the device registers. */
  readonly pushKey: { readonly id: number; readonly key: string } | null
  /** The data by which a relay reaches the device. Null until the device registers. */
  readonly registration: {
    readonly tokenKind: 'apns' | 'fcm'
    readonly tokenId: string
    readonly bouncerPublicKey: string
    readonly sealed: string
    readonly time: number
  } | null
}

/** A registration for encrypted notifications, as clients below level 468 make it. */
export interface PushDevice {
  readonly userId: number
  readonly accountId: number
  readonly tokenKind: 'apns' | 'fcm'
  readonly pushKey: string
  readonly bouncerPublicKey: string
  readonly registration: string
}

/** A browser that is told of messages by its push service. RFC 8030, RFC 8291. */
export interface WebPushSubscription {
  /** Id of the session that made it. */
  readonly keyId: number
  readonly userId: number
  readonly endpoint: string
  /** Public key and secret of the browser, base64url. */
  readonly p256dh: string
  readonly auth: string
}
