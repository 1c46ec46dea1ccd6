/** Checks a scheduled message when it is created, so that the client sees errors at once. Contract section 3.2.1. */

import type { Realm } from '../model/realm.ts'
import type { ScheduledMessage, User } from '../model/records.ts'
import { findDestination } from './destination.ts'
import { expectMayMention } from './mentions.ts'
import { draftOf, type Outgoing } from './send.ts'

/** Returns members of the record. Throws the errors of sending. */
export function checkedOutgoing(
  realm: Realm,
  sender: User,
  outgoing: Pick<Outgoing, 'kind' | 'to' | 'topic' | 'content'>,
): Pick<ScheduledMessage, 'type' | 'to' | 'topic' | 'content' | 'html'> {
  const { content, rendered } = draftOf(realm, sender, outgoing.content)
  const { html } = rendered
  const destination = findDestination(realm, sender, outgoing)
  expectMayMention(realm, sender, destination, rendered)
  if (destination.kind === 'channel')
    return { type: 'stream', to: [destination.channel.id], topic: destination.topic, content, html }
  const others = destination.people.map(({ id }) => id).filter((id) => id !== sender.id)
  return { type: 'private', to: others.length === 0 ? [sender.id] : others, topic: '', content, html }
}
