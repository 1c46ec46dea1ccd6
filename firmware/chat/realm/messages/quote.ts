/** What the service's bots say of somebody's message: where it is, who wrote it, and its text in a fence of its own. */

import type { MessageRow } from '../../store/messages.ts'
import type { Realm } from '../realm.ts'
import { placeOf } from './places.ts'

/** A link, where there is one to it. */
export function nameOfMessage(realm: Realm, message: MessageRow): string {
  const place = placeOf(realm, message)
  return place.kind === 'channel' ? `#**${place.channel.name}>${place.topic}@${message.id}**` : 'a direct message'
}

export function quotedMessage(realm: Realm, message: MessageRow): string {
  const sender = realm.state.user.get(message.sender)!
  return `@_**${sender.fullName}|${sender.id}**:\n${quoted(message.content)}`
}

/** Whatever is in it, nothing of it ends the quotation. */
export function quoted(text: string): string {
  const fence = '`'.repeat(Math.max(3, ...(text.match(/`+/g) ?? []).map(({ length }) => length + 1)))
  return `${fence}quote\n${text}\n${fence}`
}
