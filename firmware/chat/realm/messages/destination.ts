/** Checks of a message's destination, in the order of contract section 3.2.1. */

import { badRequest, ChatError } from '../../base/error.ts'
import { realmSetting } from '../model/read-settings.ts'
import type { Realm } from '../model/realm.ts'
import type { Channel, User } from '../model/records.ts'
import { organizationOf } from '../model/state.ts'
import { asTopic } from '../model/topic-names.ts'
import { findChannelByName } from '../permissions/channel-find.ts'
import { canRead, canSee } from '../permissions/channel-rights.ts'
import { mayInChannel, mayInRealm } from '../permissions/group-rights.ts'
import { mayAccess } from '../permissions/user-access.ts'
import { findConversation, findTopic } from './location.ts'

/** The parameter `to` of a request: an id, a name, addresses joined by commas, or a list. */
export type To = number | string | readonly number[] | readonly string[]

const PARTICIPANTS_MAX = 250 // of one conversation: each message in it reads all ids

/** Throws `STREAM_DOES_NOT_EXIST` for a missing channel and for one that the user cannot see. */
export function findChannel(realm: Realm, user: User, to: To): Channel {
  const one = typeof to === 'object' ? to[0] : to
  if (one === undefined || (typeof to === 'object' && to.length > 1)) throw badRequest('Expected exactly one channel')
  if (typeof one === 'string') return findChannelByName(realm, user, one.trim())
  const channel = realm.state.channel.get(one)
  if (channel === undefined || !canSee(realm, user, channel)) throw noSuchChannel(one)
  return channel
}

export const noSuchChannel = (id: number): ChatError =>
  new ChatError('STREAM_DOES_NOT_EXIST', `Channel with ID '${id}' does not exist`, { stream_id: id })

/** `topic` must come from `asTopic`. */
export function expectMaySend(realm: Realm, sender: User, channel: Channel, topic: string): void {
  if (channel.isArchived) throw badRequest(`Not authorized to send to channel '${channel.name}': it is archived`)
  const isAllowed = canRead(realm, sender, channel) && mayInChannel(realm, channel, 'can_send_message_group', sender)
  if (!isAllowed) throw badRequest(`Not authorized to send to channel '${channel.name}'`)
  expectTopicAllowed(realm, sender, channel, topic)
}

/** Used for moves too. Contract section 7.5. */
export function expectTopicAllowed(realm: Realm, user: User, channel: Channel, topic: string, isNew = true): void {
  const policy = topicsPolicy(realm, channel)
  if (topic === '' && policy === 'disable_empty_topic')
    throw badRequest("Sending messages to the 'general chat' topic is not allowed here")
  if (topic !== '' && policy === 'empty_topic_only')
    throw badRequest("Only the 'general chat' topic is allowed in this channel")
  if (
    isNew &&
    findTopic(realm, channel, topic) === undefined &&
    !mayInChannel(realm, channel, 'can_create_topic_group', user)
  )
    throw badRequest('You do not have permission to create new topics in this channel')
}

function topicsPolicy(realm: Realm, { topicsPolicy }: Channel) {
  return topicsPolicy === 'inherit' ? realmSetting(organizationOf(realm.state), 'topics_policy') : topicsPolicy
}

/** Returns all participants, including the sender. */
export function findPeople(realm: Realm, sender: User, to: To): User[] {
  const list = typeof to === 'object' ? to : typeof to === 'number' ? [to] : to.split(',').map((email) => email.trim())
  if (list.length === 0) throw badRequest('Message must have recipients')
  if (list.length > PARTICIPANTS_MAX) throw badRequest(`A conversation has at most ${PARTICIPANTS_MAX} participants`)
  const people = new Map([[sender.id, sender]])
  for (const one of list) {
    const user = typeof one === 'number' ? realm.state.user.get(one) : realm.state.userByEmail.get(one.toLowerCase())
    if (user === undefined || !(user.isSystemBot || mayAccess(realm, sender, user)))
      throw badRequest(typeof one === 'number' ? `Invalid user ID ${one}` : `Invalid email '${one}'`)
    people.set(user.id, user)
  }
  return [...people.values()]
}

/** Checks the rules of direct messages. `people` must include the sender. */
function expectMayTalk(realm: Realm, sender: User, people: readonly User[]): void {
  const others = people.filter(({ id }) => id !== sender.id)
  if (others.length > 0 && others.every(({ isActive }) => !isActive)) {
    const [first, ...further] = others
    throw badRequest(
      first !== undefined && further.length === 0
        ? `'${first.email}' is no longer using Coffer`
        : 'All recipients are deactivated',
    )
  }
  if (sender.isSystemBot || others.every(({ bot }) => bot !== null)) return
  if (!people.some((user) => user.bot === null && mayInRealm(realm, 'direct_message_permission_group', user)))
    throw badRequest('Direct messages are disabled in this organization')
  const isNew =
    findConversation(
      realm,
      people.map(({ id }) => id),
    ) === undefined
  if (isNew && !mayInRealm(realm, 'direct_message_initiator_group', sender))
    throw badRequest('You do not have permission to initiate direct message conversations')
}

/** A location that the sender may send to. A direct conversation may not exist yet. */
export type Destination =
  | { readonly kind: 'channel'; readonly channel: Channel; readonly topic: string }
  | { readonly kind: 'direct'; readonly people: readonly User[] }

export function findDestination(
  realm: Realm,
  sender: User,
  { kind, to, topic }: { kind: Destination['kind']; to: To; topic: string | undefined },
): Destination {
  if (kind === 'channel') {
    const channel = findChannel(realm, sender, to)
    const name = asTopic(topic ?? '')
    expectMaySend(realm, sender, channel, name)
    return { kind, channel, topic: name }
  }
  const people = findPeople(realm, sender, to)
  expectMayTalk(realm, sender, people)
  return { kind, people }
}
