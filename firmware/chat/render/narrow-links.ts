/** Addresses of channels and topics in clients. Contract 6.2. */

export function channelPath(id: number, name: string): string {
  return `/#narrow/channel/${id}-${encodeNarrowPart(name.replaceAll(' ', '-'))}`
}

export function topicPath(channelId: number, channel: string, topic: string): string {
  return `${channelPath(channelId, channel)}/topic/${encodeNarrowPart(topic)}`
}

/** Percent-encodes, then replaces `.` by `.2E` and `%` by `.`, because some clients decode the text after `#` too early. */
function encodeNarrowPart(text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('.', '%2E')
    .replaceAll('%', '.')
}
