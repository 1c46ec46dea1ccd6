/** How the service's bots name channels and topics: as links that mention nobody, whatever the names are. Contract 6.2. */

import { channelPath, topicPath } from '../../render/narrow-links.ts'
import type { Realm } from '../model/realm.ts'
import type { Channel, User } from '../model/records.ts'
import { topicName } from '../model/topic-names.ts'
import { canSee } from '../permissions/channel-rights.ts'
import type { ChannelLocation, MessageLocation } from './location.ts'

/** What `#**channel>topic**` cannot hold, and what would be the id of a message there. */
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

/** Where clients show a message, and how a message links to it: level 508. Of a channel that `reader` does not see, neither name nor topic. */
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

/** Its marks as entities, as Zulip's clients write them. */
export const asText = (name: string): string =>
  name.replace(/[`*<>&[\]$~\p{Cc}]/gu, (mark) => `&#${mark.codePointAt(0)};`)
