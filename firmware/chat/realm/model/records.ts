/**
 * What the realm keeps in memory. Records never change: a change puts a new one in the place of the old, so whoever holds
 * one holds what was true then. Times are seconds since the epoch unless a name says otherwise. Contract section 2.
 */

import type { JwtAlgorithm } from '../../link/link.ts'
import type { GroupValue } from './group-value.ts'
import type { Role } from './roles.ts'

/** Settings by the names of the contract; what is absent has its default. */
export type SettingValue = string | number | boolean | null
export type Settings = Readonly<Record<string, SettingValue>>
export type GroupSettings = Readonly<Record<string, GroupValue>>

/** There is one; its id is on the wire. */
export const REALM_ID = 2

export interface Organization {
  readonly id: typeof REALM_ID
  readonly name: string
  /** Without a slash at its end; '' until somebody has set it: then requests tell by their `host`. */
  readonly url: string
  readonly dateCreated: number
  /** RFC 9562 version 4. Absent in an organization of an older version until it is opened. */
  readonly uuid?: string
  readonly isDeactivated: boolean
  /** Contract section 2.6, but for group settings. */
  readonly settings: Settings
  readonly groupSettings: GroupSettings
  /** What accounts to come begin with: contract section 2.7; what was changed alone. Absent where nothing ever was. */
  readonly userDefaults?: Settings
  /** Pictures of its own. Absent where there never was one. */
  readonly pictures?: Readonly<Partial<Record<RealmPicture, PictureVersion>>>
  /** What only the appliance's administrator sets. */
  readonly operator: Operator
}

export type RealmPicture = 'icon' | 'logo' | 'night_logo'

interface PictureVersion {
  /** Raised with each change, so that clients fetch it anew. */
  readonly version: number
  readonly isSet: boolean
}

export interface Operator {
  readonly ownerFullContentAccess: boolean
  readonly uploadQuotaMib: number | null
  /** How tokens are checked that sign people in. The key is sealed (base64). Absent where none was ever set. */
  readonly jwt?: { readonly algorithm: JwtAlgorithm; readonly sealed: string } | null
  /** Whom outgoing webhooks may reach, as `host` or `host:port`. Absent where none was ever set. */
  readonly outgoingHosts?: readonly string[]
  /** Messages show pictures and videos of other hosts. Absent where it was never set: they do not. */
  readonly externalPreviews?: boolean
}

export interface User {
  readonly id: number
  /** The address for the API: the real one, or `user<id>@<host>`. Contract section 2.2. */
  readonly email: string
  readonly deliveryEmail: string
  readonly fullName: string
  readonly role: Role
  readonly isActive: boolean
  readonly dateJoined: number
  /** Raised with each new avatar. */
  readonly avatarVersion: number
  /** `J`: made from the id; `U`: a picture of the user's own; `G`: Gravatar. */
  readonly avatarSource: 'J' | 'U' | 'G'
  /** Contract section 2.7; own choices alone. */
  readonly settings: Settings
  /** By the id of the field. */
  readonly profileData: Readonly<Record<string, ProfileValue>>
  readonly bot: Bot | null
  /** One of the three that the service itself is: contract's `cross_realm_bots`. */
  readonly isSystemBot: boolean
  readonly isDeleted: boolean
  /** Made by an administrator, and nobody has signed in yet: `dateJoined` is when it was made. */
  readonly hasNeverSignedIn?: true
  /** The address was set by somebody else who answers for it, or confirmed by a token. Absent: not known. Contract section 1.2. */
  readonly isAddressTrusted?: boolean
}

/** Contract section 2.5, custom profile field. */
export interface ProfileValue {
  /** As text; a list of accounts as JSON. */
  readonly value: string
  /** As HTML, of types that are shown so. */
  readonly html: string | null
}

export interface Bot {
  /** 1 generic, 2 incoming webhook, 3 outgoing webhook, 4 embedded. */
  readonly type: 1 | 2 | 3 | 4
  readonly ownerId: number | null
  readonly defaultSendingStreamId: number | null
  readonly defaultEventsRegisterStreamId: number | null
  readonly defaultAllPublicStreams: boolean
  /** Of types 3 and 4: who answers for it. */
  readonly service?: BotService
}

export type BotService =
  /** Form 1 is ours, form 2 that of Slack. The token, by which the other side knows us, is sealed (base64). */
  | {
      readonly kind: 'outgoing'
      readonly url: string
      readonly form: 1 | 2
      readonly sealedToken: string
      /** Of the client that has made it, if that was an older one: so it is told of messages. Contract section 8. */
      readonly level?: number
    }
  | { readonly kind: 'embedded'; readonly name: string; readonly config: Readonly<Record<string, string>> }

/** A message that a bot's service has still to hear of. */
export interface BotCall {
  readonly id: number
  readonly botId: number
  readonly messageId: number
  readonly trigger: 'direct_message' | 'mention'
  readonly time: number
}

/** Of one address, or of whoever has the link. Contract section 2.5. */
export interface Invitation {
  readonly id: number
  /** Of the key that accepts it, which is kept sealed as well, since it is shown again. */
  readonly hash: string
  readonly sealedKey: string
  readonly inviterId: number
  readonly time: number
  /** For how long it was meant, and until when it is; null: it does not end. */
  readonly minutes: number | null
  readonly expires: number | null
  /** Null: a link, for as many as come. */
  readonly email: string | null
  readonly role: Role
  readonly channelIds: readonly number[]
  readonly groupIds: readonly number[]
  readonly includeDefaults: boolean
  readonly notifyInviter: boolean
  /** Null: as the organization's setting has it. */
  readonly welcomeText: string | null
}

export interface Password {
  readonly userId: number
  readonly salt: string
  readonly hash: string
  readonly cost: { readonly N: number; readonly r: number; readonly p: number }
}

/** A key of an account: only its hash is kept. A bot's can be shown again, so it is kept sealed as well. Design 10. */
export interface ApiKey {
  readonly hash: string
  readonly id: number
  readonly userId: number
  readonly client: string
  readonly made: number
  /** The day of the last use, in days since the epoch. */
  readonly usedDay: number
  readonly sealed: string | null
  /** Of a bot's key: the administrators it was given to, who are not the bot's owner. Older versions have stored one. */
  readonly givenTo?: readonly number[] | number
  /** It is no key but a session of the page. */
  readonly session?: PageSession
}

/** Contract section 1.2.1. */
export interface PageSession {
  /** The owner's name for the device. */
  readonly device: string
  /** The cookie outlives the browser. */
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

/** Channels that new members may choose together. Contract section 2.5. */
export interface DefaultChannelGroup {
  readonly id: number
  readonly name: string
  readonly description: string
  /** Ascending. */
  readonly channelIds: readonly number[]
}

/** Of a user who is or was subscribed. Contract section 2.3, set S. */
export interface Subscription {
  readonly userId: number
  readonly channelId: number
  readonly isActive: boolean
  readonly color: string
  readonly isMuted: boolean
  readonly pinToTop: boolean
  /** Null: as the user's settings have it. */
  readonly desktopNotifications: boolean | null
  readonly audibleNotifications: boolean | null
  readonly pushNotifications: boolean | null
  readonly emailNotifications: boolean | null
  readonly wildcardMentionsNotify: boolean | null
  /** The account that subscribed the user first, if it was another one. */
  readonly by?: number
  /** Ordinals of the channel's recipient that reached him, ascending; the last one open (null) while he is subscribed and active. */
  readonly intervals: readonly (readonly [from: number, to: number | null])[]
}

/** Two people or more, or one with notes to self: who talks in direct messages. */
export interface DirectConversation {
  readonly recipientId: number
  /** Ascending, at least one. */
  readonly userIds: readonly number[]
  /** Who sent the first message in it. Absent in those of before. */
  readonly creatorId?: number
}

/** Contract section 2.5; 0, which clears it, is never stored. */
export interface UserTopic {
  readonly userId: number
  readonly channelId: number
  readonly topicName: string
  readonly lastUpdated: number
  readonly policy: 1 | 2 | 3
}

/** Small lists and states of one user each. */
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
  /** Seconds; 0 when never. */
  readonly active: number
  readonly idle: number
  /** Counts up over all users, for `last_update_id`. */
  readonly updateId: number
}

/** Contract section 2.5. */
export interface Draft {
  readonly id: number
  readonly userId: number
  readonly type: '' | 'stream' | 'private'
  /** One channel, or people; nobody yet. */
  readonly to: readonly number[]
  readonly topic: string
  readonly content: string
  /** Of the last edit. */
  readonly timestamp: number
}

/** To be sent when its time has come. Contract section 2.5. */
export interface ScheduledMessage {
  readonly id: number
  readonly userId: number
  readonly type: 'stream' | 'private'
  /** One channel, or the people beside the sender; the sender, where there are none. */
  readonly to: readonly number[]
  readonly topic: string
  readonly content: string
  readonly html: string
  readonly time: number
  /** Its time came and it could not be sent. */
  readonly failed: boolean
  /** Null: as the client's name tells. */
  readonly readBySender: boolean | null
  readonly client: string
}

/** Of a message, when its time has come. Contract section 2.5. */
export interface Reminder {
  readonly id: number
  readonly userId: number
  readonly messageId: number
  readonly note: string
  /** What was to be said when it was asked for; empty once the message is deleted. */
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
  /** What stands behind `#` in the address of the view. */
  readonly fragment: string
  readonly isPinned: boolean
  /** Null for those that clients have names for. */
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

/** The bytes are where uploads have theirs, under that id. */
interface ExportedArchive {
  readonly id: number
  /** Below `/user_uploads/`, as uploads have one. */
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
  /** Null until it is made, and once it is deleted. */
  readonly archive: ExportedArchive | null
  readonly failed: number | null
  readonly deleted: number | null
}

export interface BotStorage {
  readonly userId: number
  readonly name: string
  readonly value: string
}

/** Messages and more that are being deleted with an account. Contract section 3.4.1. */
export interface Erasure {
  readonly userId: number
  readonly publicMessages: boolean
  readonly privateMessages: boolean
  readonly directMessages: boolean
  readonly profile: boolean
  /** Those up to this id are done. */
  readonly after: number
}

/** Contract section 2.5. */
export interface Linkifier {
  readonly id: number
  readonly pattern: string
  readonly urlTemplate: string
  /** A text that matches, and how an address that was pasted is written as such a text. Absent or null: none. */
  readonly exampleInput?: string | null
  readonly reverseTemplate?: string | null
  /** Other addresses that are written so. Absent: none. */
  readonly alternativeUrlTemplates?: readonly string[]
  /** Earlier ones win. */
  readonly order: number
}

export interface Playground {
  readonly id: number
  readonly name: string
  readonly language: string
  readonly urlTemplate: string
}

/** Of addresses that accounts may have. */
export interface RealmDomain {
  readonly id: number
  /** In lower case. */
  readonly domain: string
  readonly allowSubdomains: boolean
}

/** What people may tell of themselves. Contract section 2.5. */
export interface ProfileField {
  readonly id: number
  /** 1 short text, 2 long text, 3 choice, 4 date, 5 link, 6 person, 7 external account, 8 pronouns. */
  readonly type: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8
  readonly name: string
  readonly hint: string
  /** JSON; '' where the type needs none. */
  readonly fieldData: string
  readonly order: number
  readonly inSummary: boolean
  readonly isRequired: boolean
  readonly isEditable: boolean
}

/** A device that wants to be told, by the names of its maker's service. */
export interface PushToken {
  readonly userId: number
  readonly kind: 'apns' | 'fcm'
  readonly token: string
  /** Of Apple's alone. */
  readonly appId: string | null
}

/** A device on which its account is signed in. Contract section 2.5. */
export interface ClientDevice {
  readonly id: number
  readonly userId: number
  /** The key or session that made it. */
  readonly keyId: number
  /** Encrypts notifications. Null until the device registers. */
  readonly pushKey: { readonly id: number; readonly key: string } | null
  /** How a relay would reach it. Null until the device registers. */
  readonly registration: {
    readonly tokenKind: 'apns' | 'fcm'
    readonly tokenId: string
    readonly bouncerPublicKey: string
    readonly sealed: string
    /** When it was registered. */
    readonly time: number
  } | null
}

/** A registration for encrypted notifications, in the form of before level 468. */
export interface PushDevice {
  readonly userId: number
  readonly accountId: number
  readonly tokenKind: 'apns' | 'fcm'
  readonly pushKey: string
  readonly bouncerPublicKey: string
  readonly registration: string
}
