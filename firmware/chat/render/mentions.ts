/** Mentions of users, groups and wildcards; links to channels and topics. Contract 6.2. */

import { type Element, element } from './element.ts'
import { type Pattern, pattern } from './inline.ts'
import type { Names, RenderSettings } from './names.ts'
import { channelPath, topicPath } from './narrow-links.ts'
import { BEFORE_MENTION, GROUP_MENTION, USER_MENTION } from './patterns.ts'

export interface Mentions {
  users: Set<number>
  groups: Set<number>
  channelWildcard: boolean
  topicWildcard: boolean
}

const CHANNEL_WILDCARDS = new Set(['all', 'everyone', 'channel', 'stream'])
const TOPIC_WILDCARD = 'topic'

export function userMentions(names: Names, mentions: Mentions): Pattern {
  return pattern(new RegExp(USER_MENTION, 'gu'), '@', ([, mark, name]) => {
    const silent = mark === '_'
    if (CHANNEL_WILDCARDS.has(name!)) {
      mentions.channelWildcard ||= !silent
      return mention('user-mention channel-wildcard-mention', name!, silent, { 'data-user-id': '*' })
    }
    if (name === TOPIC_WILDCARD) {
      mentions.topicWildcard ||= !silent
      return mention('topic-mention', name, silent, {})
    }
    const user = namedUser(names, name!)
    if (user === undefined) return null
    if (!silent && user.isActive) mentions.users.add(user.id)
    return mention('user-mention', user.fullName, silent || !user.isActive, { 'data-user-id': String(user.id) })
  })
}

/** `Name`, `Name|id` or `|id`. A name with an id must be the name of that user. */
function namedUser(names: Names, text: string) {
  const [, name, id] = /^(.+)?\|(\d{1,15})$/s.exec(text) ?? []
  if (id === undefined) return names.userByName(text)
  const user = names.userById(Number(id))
  return name === undefined || user?.fullName === name ? user : undefined
}

export function groupMentions(names: Names, mentions: Mentions): Pattern {
  return pattern(new RegExp(GROUP_MENTION, 'gu'), '@', ([, mark, name], found) => {
    const group = names.group(found.typed(name!))
    if (group === undefined) return null
    const silent = mark === '_' || group.deactivated
    if (!silent) mentions.groups.add(group.id)
    return mention('user-group-mention', group.name, silent, { 'data-user-group-id': String(group.id) })
  })
}

function mention(kind: string, name: string, silent: boolean, attributes: Record<string, string>): Element {
  return element('span', { class: silent ? `${kind} silent` : kind, ...attributes }, silent ? name : `@${name}`)
}

export function messageLinks(names: Names, { emptyTopicName }: RenderSettings): Pattern {
  const expression = new RegExp(`${BEFORE_MENTION}#\\*\\*([^*>]+)>([^*]*)@(\\d{1,15})\\*\\*`, 'gu')
  return pattern(expression, '#**', (match, found) => {
    const [channel, topic] = [found.typed(match[1]!), topicOf(found.typed(match[2]!), emptyTopicName)]
    const known = names.channel(channel)
    if (known === undefined) return null
    const href = `${topicPath(known.id, channel, topic)}/near/${match[3]}`
    return topicLink({ class: 'message-link', href }, channel, topic, emptyTopicName, ' @ 💬')
  })
}

export function topicLinks(names: Names, { emptyTopicName }: RenderSettings): Pattern {
  const expression = new RegExp(`${BEFORE_MENTION}#\\*\\*([^*>]+)>([^*]*)\\*\\*`, 'gu')
  return pattern(expression, '#**', (match, found) => {
    const [channel, topic] = [found.typed(match[1]!), topicOf(found.typed(match[2]!), emptyTopicName)]
    const known = names.channel(channel)
    if (known === undefined) return null
    const newest = names.newestMessage(known.id, topic)
    const href = topicPath(known.id, channel, topic) + (newest === undefined ? '' : `/with/${newest}`)
    const attributes = { class: 'stream-topic', 'data-stream-id': String(known.id), href }
    return topicLink(attributes, channel, topic, emptyTopicName, '')
  })
}

export function channelLinks(names: Names): Pattern {
  return pattern(new RegExp(`${BEFORE_MENTION}#\\*\\*([^*]+)\\*\\*`, 'gu'), '#**', (match, found) => {
    const channel = found.typed(match[1]!)
    const known = names.channel(channel)
    if (known === undefined) return null
    const attributes = { class: 'stream', 'data-stream-id': String(known.id), href: channelPath(known.id, channel) }
    return element('a', attributes, `#${channel}`)
  })
}

/** The placeholder stands for the empty topic. */
const topicOf = (typed: string, emptyTopicName: string): string => (typed === emptyTopicName ? '' : typed)

function topicLink(
  attributes: Record<string, string>,
  channel: string,
  topic: string,
  emptyTopicName: string,
  end: string,
): Element {
  if (topic !== '') return element('a', attributes, `#${channel} > ${topic}${end}`)
  const link = element('a', attributes, `#${channel} > `)
  link.children.push({ ...element('em', {}, emptyTopicName), tail: end })
  return link
}
