/** Access to channels as a table: contract section 7.1. Pure: callers pass the facts about the user and the channel. */

/** Web-public channels are public channels that spectators can read without an account. */
export type ChannelKind = 'webPublic' | 'public' | 'private'

/** Metadata: existence, name and subscribers of the channel. Content: its messages and every action on them. */
export type ChannelAccess = 'metadata' | 'content' | 'subscribe'

/** A fact about a user and a channel that grants access to some kinds of channel. */
type Ground =
  | 'anybody' // spectators included
  | 'account'
  | 'member' // not a guest
  | 'subscriber'
  | 'administrator' // of the organization; owners included
  | 'fullAccessOwner' // an owner, while the operator has switched ownerFullContentAccess on
  | 'channelAdministrator' // can_administer_channel_group
  | 'addsSubscribers' // can_add_subscribers_group of the channel
  | 'mayJoin' // can_subscribe_group

const GROUNDS: Readonly<Record<ChannelAccess, Readonly<Record<ChannelKind, readonly Ground[]>>>> = {
  metadata: {
    webPublic: ['account', 'anybody'],
    public: ['member', 'subscriber'],
    private: ['subscriber', 'administrator', 'channelAdministrator', 'addsSubscribers', 'mayJoin'],
  },
  content: {
    webPublic: ['account', 'anybody'],
    public: ['member', 'subscriber'],
    private: ['subscriber', 'addsSubscribers', 'mayJoin', 'fullAccessOwner'],
  },
  subscribe: {
    webPublic: ['account'],
    public: ['member'],
    private: ['mayJoin', 'addsSubscribers'],
  },
}

/** Relation of a user to one channel. The three group rights do not count for guests: none of them may be `role:everyone` (7.2). */
export interface ChannelRelation {
  who: 'spectator' | 'guest' | 'member' | 'administrator' | 'owner'
  subscribed: boolean
  administersChannel: boolean
  addsSubscribers: boolean
  mayJoin: boolean
}

export interface AccessSettings {
  spectators: boolean // enable_spectator_access
  ownerFullContentAccess: boolean
}

export function channelKind(channel: { invite_only: boolean; is_web_public: boolean }): ChannelKind {
  if (channel.invite_only) return 'private'
  return channel.is_web_public ? 'webPublic' : 'public'
}

export function hasAccess(
  access: ChannelAccess,
  kind: ChannelKind,
  standing: ChannelRelation,
  settings: AccessSettings,
): boolean {
  return GROUNDS[access][kind].some((ground) => HOLDS[ground](standing, settings))
}

const isMember = ({ who }: ChannelRelation): boolean => who !== 'spectator' && who !== 'guest'

const HOLDS: Readonly<Record<Ground, (standing: ChannelRelation, settings: AccessSettings) => boolean>> = {
  anybody: (_standing, { spectators }) => spectators,
  account: ({ who }) => who !== 'spectator',
  member: isMember,
  subscriber: ({ who, subscribed }) => who !== 'spectator' && subscribed,
  administrator: ({ who }) => who === 'administrator' || who === 'owner',
  fullAccessOwner: ({ who }, { ownerFullContentAccess }) => who === 'owner' && ownerFullContentAccess,
  channelAdministrator: (standing) => isMember(standing) && standing.administersChannel,
  addsSubscribers: (standing) => isMember(standing) && standing.addsSubscribers,
  mayJoin: (standing) => isMember(standing) && standing.mayJoin,
}
