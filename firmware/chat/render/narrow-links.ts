/** Addresses of channels and topics in clients. Contract 6.2. */

export function channelPath(id: number, name: string): string {
  return `/#narrow/channel/${id}-${encodeNarrowPart(name.replaceAll(' ', '-'))}`
}

export function topicPath(channelId: number, channel: string, topic: string): string {
  return `${channelPath(channelId, channel)}/topic/${encodeNarrowPart(topic)}`
}

/** Percent-encoded, then `.` is `.2E` and each `%` a `.`: some clients would decode what stands after `#` too early. */
function encodeNarrowPart(text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('.', '%2E')
    .replaceAll('%', '.')
}
