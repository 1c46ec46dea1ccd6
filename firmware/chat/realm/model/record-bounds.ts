/**
 * Limits on the number and size of records of each kind. Contract section 9.1 has a table with the same rows. A transaction that exceeds a
 * limit fails when it puts the record (transaction.ts), whichever endpoint it belongs to.
 */

import type { RecordKind, RecordOf } from './kinds.ts'
import type { User } from './records.ts'

export interface Bound<T> {
  /** Used in error messages: `More than 1000 drafts`. */
  readonly of: string
  /** Used instead of `of` in error messages about the whole organization. */
  readonly ofOrganization?: string
  /** The account that a record counts toward, or null. Records of a bot count toward its owner. */
  readonly accountOf?: (record: T) => number | null
  readonly account?: number
  /** Present: `account` does not limit administrators and owners, who set up the organization. */
  readonly isForAdministrators?: false
  /** Absent if each account has at most one record. */
  readonly organization?: number
  /** A limit on the sum of one measure over all records. */
  readonly size?: Size<T>
}

export interface Size<T> {
  readonly of: string
  readonly sizeOf: (record: T) => number
  readonly account?: number
  readonly organization: number
}

/** Kinds whose number is limited elsewhere, with the reason. */
export interface Fixed {
  readonly why: string
}

type OfAccount = { readonly userId: number }
const userId = ({ userId }: OfAccount): number => userId

const ACCOUNTS = 10_000 // each one is in every register answer
const ONE_EACH: Fixed = { why: 'one of each account' }
const ID_CHARACTERS = 6 // of an id in a list

const DEVICES = { of: 'devices', accountOf: userId, account: 50, organization: 50_000 } as const
const CLIENT_DEVICE_CHARACTERS = 100 // its ids, and its push key of 44 characters
/** One field may have 4096 characters; a typical device has a few hundred in total. */
const DEVICE_CHARACTERS = { of: 'characters of devices', organization: 20_000_000 } as const

const idsIn = (value: unknown): number => (value === undefined ? 0 : JSON.stringify(value).length)

/**
 * A register answer contains all channels twice, all accounts, groups and folders, and one account's own records. With every limit reached
 * it still fits into the largest answer: see pipeline/answer-json.ts.
 */
export const BOUNDS = {
  organization: { why: 'there is one' },
  user: {
    of: 'bots',
    accountOf: ({ bot }: User) => bot?.ownerId ?? null,
    account: 200,
    ofOrganization: 'accounts',
    organization: ACCOUNTS,
    size: {
      of: 'characters of profiles',
      sizeOf: ({ profileData }: User) =>
        Object.values(profileData).reduce((sum, { value, html }) => sum + value.length + (html?.length ?? 0), 0),
      organization: 4_000_000,
    },
  },
  password: ONE_EACH,
  passwordLink: ONE_EACH,
  apiKey: { why: 'at most 100 of each account: an older one is revoked for a new one' },
  group: {
    of: 'user groups',
    accountOf: ({ creatorId }) => creatorId,
    account: 500,
    isForAdministrators: false,
    organization: 5000,
    size: {
      of: 'characters of user groups',
      sizeOf: ({ description, members, subgroups, groupSettings }) =>
        description.length + (members.length + subgroups.length) * ID_CHARACTERS + idsIn(groupSettings),
      account: 500_000,
      organization: 4_000_000,
    },
  },
  invitation: {
    of: 'open invitations',
    accountOf: ({ inviterId }) => inviterId,
    account: 1000,
    isForAdministrators: false,
    organization: 3000,
  },
  channel: {
    of: 'channels',
    accountOf: ({ creatorId }) => creatorId,
    account: 500,
    isForAdministrators: false,
    organization: 3000,
    size: {
      of: 'characters of channels',
      sizeOf: ({ description, renderedDescription, groupSettings }) =>
        description.length + renderedDescription.length + idsIn(groupSettings),
      account: 500_000,
      organization: 2_000_000,
    },
  },
  channelFolder: {
    of: 'channel folders',
    organization: 1000,
    size: {
      of: 'characters of channel folders',
      sizeOf: ({ description, renderedDescription }) => description.length + renderedDescription.length,
      organization: 1_000_000,
    },
  },
  defaultChannelGroup: {
    of: 'default channel groups',
    organization: 1000,
    size: {
      of: 'channels in default channel groups',
      sizeOf: ({ channelIds }) => channelIds.length,
      organization: 10_000,
    },
  },
  /** Counts toward the account that subscribed the user: one account could otherwise subscribe every user to each of its channels. */
  subscription: {
    of: 'subscriptions',
    accountOf: ({ by, userId }) => by ?? userId,
    account: 20_000,
    isForAdministrators: false,
    organization: 400_000,
  },
  conversation: {
    of: 'conversations',
    accountOf: ({ creatorId }) => creatorId ?? null,
    account: 5000,
    organization: 100_000,
    size: {
      of: 'participants of conversations',
      sizeOf: ({ userIds }) => userIds.length,
      account: 50_000,
      organization: 500_000,
    },
  },
  userTopic: { of: 'topics with a policy', accountOf: userId, account: 20_000, organization: 400_000 },
  alertWords: {
    of: 'lists of alert words',
    accountOf: userId,
    size: { of: 'alert words', sizeOf: ({ value }) => value.length, account: 1000, organization: 100_000 },
  },
  mutedUsers: {
    of: 'lists of muted users',
    accountOf: userId,
    size: { of: 'muted users', sizeOf: ({ value }) => value.length, account: 1000, organization: 200_000 },
  },
  userStatus: ONE_EACH,
  onboardingSteps: ONE_EACH,
  editedSettings: ONE_EACH,
  presence: ONE_EACH,
  realmExport: { of: 'exports', organization: 5000 },
  realmEmoji: {
    of: 'custom emoji',
    accountOf: ({ authorId }) => authorId,
    account: 250,
    isForAdministrators: false,
    organization: 1000,
  },
  draft: {
    of: 'drafts',
    accountOf: userId,
    account: 1000,
    organization: 100_000,
    size: {
      of: 'characters of drafts',
      sizeOf: ({ content, to }) => content.length + to.length * ID_CHARACTERS,
      account: 2_000_000,
      organization: 50_000_000,
    },
  },
  scheduledMessage: {
    of: 'scheduled messages',
    accountOf: userId,
    account: 1000,
    organization: 50_000,
    size: {
      of: 'characters of scheduled messages',
      sizeOf: ({ content, html }) => content.length + html.length,
      organization: 50_000_000,
    },
  },
  reminder: {
    of: 'reminders',
    accountOf: userId,
    account: 1000,
    organization: 50_000,
    size: {
      of: 'characters of reminders',
      sizeOf: ({ content, html, note }) => content.length + html.length + note.length,
      organization: 50_000_000,
    },
  },
  savedSnippet: {
    of: 'saved snippets',
    accountOf: userId,
    account: 1000,
    organization: 100_000,
    size: {
      of: 'characters of saved snippets',
      sizeOf: ({ content }) => content.length,
      account: 2_000_000,
      organization: 50_000_000,
    },
  },
  navigationView: { of: 'navigation views', accountOf: userId, account: 200, organization: 50_000 },
  botCall: { why: 'at most 100 wait for each bot: later ones are not made' },
  erasure: ONE_EACH,
  linkifier: { of: 'linkifiers', organization: 100 },
  playground: { of: 'playgrounds', organization: 200 },
  realmDomain: { of: 'domains', organization: 1000 },
  profileField: {
    of: 'profile fields',
    organization: 100,
    size: { of: 'characters of profile fields', sizeOf: ({ fieldData }) => fieldData.length, organization: 500_000 },
  },
  pushToken: {
    ...DEVICES,
    size: { ...DEVICE_CHARACTERS, sizeOf: ({ token, appId }) => token.length + (appId?.length ?? 0) },
  },
  pushDevice: {
    ...DEVICES,
    size: {
      ...DEVICE_CHARACTERS,
      sizeOf: ({ pushKey, bouncerPublicKey, registration }) =>
        pushKey.length + bouncerPublicKey.length + registration.length,
    },
  },
  clientDevice: {
    ...DEVICES,
    size: {
      ...DEVICE_CHARACTERS,
      sizeOf: ({ registration }) =>
        CLIENT_DEVICE_CHARACTERS +
        (registration === null ? 0 : registration.bouncerPublicKey.length + registration.sealed.length),
    },
  },
  webPush: {
    of: 'web push subscriptions',
    accountOf: userId,
    account: 50,
    organization: 20_000,
    size: {
      of: 'characters of web push subscriptions',
      sizeOf: ({ endpoint, p256dh, auth }) => endpoint.length + p256dh.length + auth.length,
      organization: 10_000_000,
    },
  },
  botStorage: {
    of: 'entries of bot storage',
    accountOf: userId,
    account: 20_000,
    organization: 200_000,
    size: {
      of: 'characters of bot storage',
      sizeOf: ({ name, value }) => name.length + value.length,
      organization: 50_000_000,
    },
  },
} as const satisfies { readonly [K in RecordKind]: Bound<RecordOf<K>> | Fixed }
