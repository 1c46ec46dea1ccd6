/**
 * Links to channels, topics and messages in texts of the service's bots. Names are escaped, so that they mention no one. Contract section
 * 6.2.
 */

import { channelPath, topicPath } from '../../render/narrow-links.ts'
import type { Realm } from '../model/realm.ts'
import type { Channel, User } from '../model/records.ts'
import { topicName } from '../model/topic-names.ts'
import { canSee } from '../permissions/channel-rights.ts'
import type { ChannelLocation, MessageLocation } from './location.ts'

/** Characters that `#**channel>topic**` cannot contain, and an ending that reads as the id of a message. */
const UNFIT = /[`*>&[\]\p{Cc}]|\$\$|@\d+$/u

export const linkToChannel = ({ id, name }: Channel): string =>
  UNFIT.test(name) ? `[#${asText(name)}](${channelPath(id, name)})` : `#**${name}**`

export function linkToTopic({ channel: { id, name }, topic }: ChannelLocation): string {
  if (!UNFIT.test(name) && !UNFIT.test(topic)) return `#**${name}>${topic}**`
  return `[${textOf(name, topic)}](${topicPath(id, name, topic)})`
}

export function linkToMessage({ channel: { id, name }, topic }: ChannelLocation, messageId: number): string {
  if (!UNFIT.test(name) && !UNFIT.test(topic)) return `#**${name}>${topic}@${messageId}**`
  return `[${textOf(name, topic)} @ 💬](${topicPath(id, name, topic)}/near/${messageId})`
}

/**
 * The URL of a message in clients, and a Markdown link to it: level 508. Leaves out channel and topic names if `reader` cannot see the
 * channel.
 */
export function messageAddress(
  realm: Realm,
  reader: User,
  location: MessageLocation,
  messageId: number,
  base: string,
): { url: string; link: string } {
  if (location.kind === 'conversation') {
    const { userIds } = location.conversation
    const url = `${base}/#narrow/dm/${userIds.join(',')}-${userIds.length > 2 ? 'group' : 'dm'}/near/${messageId}`
    return { url, link: url }
  }
  const { channel, topic } = location
  if (!canSee(realm, reader, channel)) {
    const url = `${base}${channelPath(channel.id, 'unknown')}/near/${messageId}`
    return { url, link: url }
  }
  const url = `${base}${topicPath(channel.id, channel.name, topic)}/near/${messageId}`
  return { url, link: `[${textOf(channel.name, topic)} @ 💬](${url})` }
}

const textOf = (channel: string, topic: string): string => `#${asText(channel)} > ${asText(topicName(topic, false))}`

/** Escapes Markdown characters as entities, as Zulip's clients do. */
export const asText = (name: string): string =>
  name.replace(/[`*<>&[\]$~\p{Cc}]/gu, (mark) => `&#${mark.codePointAt(0)};`)
