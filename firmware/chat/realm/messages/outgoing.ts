/** A message that is not sent yet: what a send would refuse now is refused now. Contract section 3.2.1. */

import type { Realm } from '../realm.ts'
import type { ScheduledMessage, User } from '../records.ts'
import { asTopic } from '../topic-names.ts'
import { checkedContent } from './content.ts'
import { expectMaySend, expectMayTalk, findChannel, findPeople } from './destination.ts'
import { expectMayMention } from './mentions.ts'
import { renderFor } from './rendering.ts'
import type { Outgoing } from './send.ts'

/** As it is kept until then. Throws what sending it would throw. */
export function checkedOutgoing(
  realm: Realm,
  sender: User,
  { kind, to, topic, content: given }: Pick<Outgoing, 'kind' | 'to' | 'topic' | 'content'>,
): Pick<ScheduledMessage, 'type' | 'to' | 'topic' | 'content' | 'html'> {
  const content = checkedContent(given)
  const rendered = renderFor(realm, sender, content)
  const { html } = rendered
  if (kind === 'channel') {
    const channel = findChannel(realm, sender, to)
    const name = asTopic(topic ?? '')
    expectMaySend(realm, sender, channel, name)
    expectMayMention(realm, sender, { kind, channel, topic: name }, rendered)
    return { type: 'stream', to: [channel.id], topic: name, content, html }
  }
  const people = findPeople(realm, sender, to)
  expectMayTalk(realm, sender, people)
  const others = people.map(({ id }) => id).filter((id) => id !== sender.id)
  return { type: 'private', to: others.length === 0 ? [sender.id] : others, topic: '', content, html }
}
