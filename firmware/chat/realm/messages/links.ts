/** How the service's bots name channels and topics: as links that mention nobody, whatever the names are. Contract 6.2. */

import { channelPath, topicPath } from '../../render/narrow-links.ts'
import type { Channel } from '../model/records.ts'
import { topicName } from '../model/topic-names.ts'
import type { ChannelLocation } from './location.ts'

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

const textOf = (channel: string, topic: string): string => `#${asText(channel)} > ${asText(topicName(topic, false))}`

/** Its marks as entities, as Zulip's clients write them. */
export const asText = (name: string): string =>
  name.replace(/[`*<>&[\]$~\p{Cc}]/gu, (mark) => `&#${mark.codePointAt(0)};`)
