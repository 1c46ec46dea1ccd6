import { ChatError } from '../../base/error.ts'
import type { MessageRow } from '../../store/messages.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { linkToMessage } from './links.ts'
import { locationOf } from './location.ts'
import { renderFor } from './rendering.ts'

export function nameOfMessage(realm: Realm, message: MessageRow): string {
  const location = locationOf(realm, message)
  return location.kind === 'channel' ? linkToMessage(location, message.id) : 'a direct message'
}

/** Uses a fence longer than any in the text, so that the text cannot end the quotation. */
export function quoted(text: string): string {
  const fence = '`'.repeat(Math.max(3, ...(text.match(/`+/g) ?? []).map(({ length }) => length + 1)))
  return `${fence}quote\n${text}\n${fence}`
}

/** Leaves out a quotation whose HTML would be too long, so that the bot's own text is always sent. */
export function withQuotation(realm: Realm, bot: User, text: string, message: MessageRow): string {
  const sender = realm.state.user.require(message.sender)
  const whole = `${text}\n\n@_**${sender.fullName}|${sender.id}**:\n${quoted(message.content)}`
  return isShort(realm, bot, whole) ? whole : `${text}\n\nThe message is too long to be quoted here.`
}

function isShort(realm: Realm, author: User, content: string): boolean {
  try {
    renderFor(realm, author, content)
    return true
  } catch (error) {
    if (error instanceof ChatError) return false
    throw error
  }
}
