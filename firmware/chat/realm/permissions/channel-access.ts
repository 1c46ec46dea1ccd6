/** Who has which access to a channel: contract section 7.1, as a table. Pure: what is true of whom comes in as facts. */

/** Web-public channels are public ones that nobody need sign in for. */
export type ChannelKind = 'webPublic' | 'public' | 'private'

/** Metadata: that it exists, its name and subscribers. Content: its messages and all that is done to them. */
export type ChannelAccess = 'metadata' | 'content' | 'subscribe'

/** What may be true of somebody beside a channel, and gives him access to some kinds of it. */
type Ground =
  | 'anybody' // also whoever signed in to nothing
  | 'account'
  | 'member' // no guest
  | 'subscriber'
  | 'administrator' // of the organisation, its owners too
  | 'fullAccessOwner' // an owner where the operator has switched ownerFullContentAccess on
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

/** Somebody beside one channel. Groups do not count for guests: none of the three may be `role:everyone` (7.2). */
export interface ChannelRelation {
  who: 'spectator' | 'guest' | 'member' | 'administrator' | 'owner'
  subscribed: boolean
  administersChannel: boolean
  addsSubscribers: boolean
  mayJoin: boolean
}

/** What the organisation allows. */
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
