/** Mentions in messages: contract section 6.4. */

import { badRequest, ChatError } from '../../base/error.ts'
import { ALERT_WORD, CHANNEL_WILDCARD, MENTIONED, TOPIC_WILDCARD } from '../model/content-flags.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { membersAmong } from '../objects/nested-groups.ts'
import { mayInGroup, mayInRealm } from '../permissions/group-rights.ts'
import type { Destination } from './destination.ts'
import { findTopic, type MessageLocation } from './location.ts'
import type { RenderedMessage } from './rendering.ts'

/** A wildcard that reaches more people requires `can_mention_many_users_group`: contract section 7.2. */
const WILDCARD_FREE_MAX = 15

/** Throws `STREAM_` or `TOPIC_WILDCARD_MENTION_NOT_ALLOWED`, and `BAD_REQUEST` for a group that the sender may not mention. */
export function expectMayMention(
  realm: Realm,
  sender: User,
  location: MessageLocation | Destination,
  rendered: RenderedMessage,
): void {
  expectMayMentionGroups(realm, sender, rendered)
  if (location.kind !== 'channel' || mayInRealm(realm, 'can_mention_many_users_group', sender)) return
  const { channel } = location
  if (rendered.channelWildcard && realm.state.subscribersOf.get(channel.id).size > WILDCARD_FREE_MAX)
    throw new ChatError('STREAM_WILDCARD_MENTION_NOT_ALLOWED', 'You may not mention everybody in this channel')
  if (rendered.topicWildcard && participantsOf(realm, location).size > WILDCARD_FREE_MAX)
    throw new ChatError('TOPIC_WILDCARD_MENTION_NOT_ALLOWED', 'You may not mention everybody in this topic')
}

function expectMayMentionGroups(realm: Realm, sender: User, { groups }: RenderedMessage): void {
  for (const id of groups) {
    const group = realm.state.group.get(id)
    if (group !== undefined && !mayInGroup(realm, group, 'can_mention_group', sender))
      throw badRequest(`You are not allowed to mention user group '${group.name}'.`)
  }
}

/** Mention flags by user id, for the mentioned users among `recipients`. */
export function mentionBits(
  realm: Realm,
  location: MessageLocation,
  rendered: RenderedMessage,
  recipients: ReadonlySet<number>,
): Map<number, number> {
  const bits = new Map<number, number>()
  const mark = (ids: Iterable<number>, bit: number): void => {
    for (const id of ids) if (recipients.has(id)) bits.set(id, (bits.get(id) ?? 0) | bit)
  }
  mark(rendered.users, MENTIONED)
  if (rendered.groups.size > 0) mark(membersAmong(realm, rendered.groups, recipients), MENTIONED)
  if (rendered.channelWildcard) mark(recipients, CHANNEL_WILDCARD)
  if (rendered.topicWildcard && location.kind === 'channel') mark(participantsOf(realm, location), TOPIC_WILDCARD)
  mark(realm.state.alertWordIndex().usersOf(rendered.alertText), ALERT_WORD)
  return bits
}

function participantsOf(realm: Realm, { channel, topic }: MessageLocation & { kind: 'channel' }): Set<number> {
  const found = findTopic(realm, channel, topic)
  return new Set(found === undefined ? [] : realm.store.messages.sendersOf(found.id))
}
