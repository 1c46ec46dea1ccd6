/** Conversations of messages, and their addresses: fragments in Zulip's form. `chat/CONTRACT.md`, section 6.2. */

import { defined } from '../../base/defined.ts'
import type { ReceivedMessage } from './types.ts'

export type ConversationRef =
  | { readonly kind: 'topic'; readonly channelId: number; readonly topic: string }
  /** Ids of all participants without the account itself, in ascending order; empty for notes to oneself. */
  | { readonly kind: 'direct'; readonly userIds: readonly number[] }

export type Place =
  | { readonly view: 'inbox' }
  | { readonly view: 'feed' }
  | { readonly view: 'drafts' }
  | { readonly view: 'area'; readonly area: AreaName; readonly path: readonly string[] }
  | { readonly view: 'channel'; readonly channelId: number }
  | { readonly view: 'conversation'; readonly conversation: ConversationRef; readonly near: number | null }

/** Views in scripts that are loaded on demand, by the first part of their fragment. */
export const AREAS = [
  'recent',
  'search',
  'new-direct',
  'channels',
  'people',
  'user',
  'groups',
  'settings',
  'organization',
  'about',
] as const
export type AreaName = (typeof AREAS)[number]

/** Characters of a topic. */
export const TOPIC_MAX = 60

/** Key of a conversation. Topics that differ only in case are the same. */
export const keyOf = (conversation: ConversationRef): string =>
  conversation.kind === 'topic'
    ? `topic ${conversation.channelId} ${conversation.topic.toLowerCase()}`
    : `direct ${conversation.userIds.join(',')}`

export const directWith = (userIds: readonly number[], ownId: number): ConversationRef => ({
  kind: 'direct',
  userIds: [...new Set(userIds)].filter((id) => id !== ownId).sort((a, b) => a - b),
})

export function conversationOf(message: ReceivedMessage, ownId: number): ConversationRef {
  const { type, stream_id: channelId, subject, display_recipient: recipients } = message
  if (type === 'stream') return { kind: 'topic', channelId: defined(channelId), topic: subject }
  const people = Array.isArray(recipients) ? recipients : []
  return directWith(
    people.map(({ id }) => id),
    ownId,
  )
}

export const narrowOf = (conversation: ConversationRef, ownId: number): { operator: string; operand: unknown }[] =>
  conversation.kind === 'topic'
    ? [
        { operator: 'channel', operand: conversation.channelId },
        { operator: 'topic', operand: conversation.topic },
      ]
    : [{ operator: 'dm', operand: conversation.userIds.length === 0 ? [ownId] : conversation.userIds }]

/** Fragment of the view that the account chose to begin with. Contract section 2.7, `web_home_view`. */
export const homeAddress = (view: unknown): string =>
  view === 'recent' ? addressOfArea('recent') : view === 'all_messages' ? FEED : INBOX

export const INBOX = '#inbox'
export const FEED = '#feed'
export const DRAFTS = '#drafts'

export const addressOfArea = (area: AreaName, ...path: readonly (string | number)[]): string =>
  `#${[area, ...path.map((part) => encode(String(part)))].join('/')}`

export function addressOf(conversation: ConversationRef, names: (id: number) => string, ownId: number): string {
  if (conversation.kind === 'topic')
    return `${channelAddress(conversation.channelId, names(conversation.channelId))}/topic/${encode(conversation.topic)}`
  const { userIds } = conversation
  const ids = userIds.length === 0 ? [ownId] : userIds
  return `#narrow/dm/${ids.join(',')}-${ids.length > 1 ? 'group' : 'dm'}`
}

export const channelAddress = (id: number, name: string): string =>
  `#narrow/channel/${id}-${encode(name.replaceAll(' ', '-'))}`

/** Also parses fragments of other clients and of links in messages. Anything unknown is the inbox. */
export function readPlace(fragment: string, ownId: number): Place {
  const [first, ...rest] = fragment.replace(/^#\/?/, '').split('/')
  const inbox: Place = { view: 'inbox' }
  if (first === 'drafts') return { view: 'drafts' }
  if (first === 'feed' || first === 'all_messages') return { view: 'feed' }
  const area = AREAS.find((one) => one === first)
  if (area !== undefined) return { view: 'area', area, path: rest.filter((part) => part !== '').map(decode) }
  if (first !== 'narrow') return inbox
  if (isSearch(rest)) return { view: 'area', area: 'search', path: rest.map(decode) }
  const terms = new Map<string, string>()
  for (let at = 0; at + 1 < rest.length; at += 2) {
    const [operator = '', operand = ''] = rest.slice(at, at + 2)
    terms.set(operator, decode(operand))
  }
  const near = Number(/^\d{1,15}$/.exec(terms.get('near') ?? '')?.[0] ?? Number.NaN)
  const found = { near: Number.isNaN(near) ? null : near }
  const direct = terms.get('dm') ?? terms.get('pm-with')
  if (direct !== undefined) {
    const ids = /^\d[\d,]*/.exec(direct)?.[0].split(',').filter(Boolean).map(Number) ?? []
    return ids.length === 0 ? inbox : { view: 'conversation', conversation: directWith(ids, ownId), ...found }
  }
  const channelId = Number(/^\d+/.exec(terms.get('channel') ?? terms.get('stream') ?? '')?.[0] ?? Number.NaN)
  if (Number.isNaN(channelId)) return inbox
  const topic = terms.get('topic') ?? terms.get('subject')
  if (topic === undefined) return { view: 'channel', channelId }
  return { view: 'conversation', conversation: { kind: 'topic', channelId, topic }, ...found }
}

/** True if a narrow has other terms than those that name a conversation. */
const isSearch = (path: readonly string[]): boolean =>
  path.some((part, at) => at % 2 === 0 && !/^(channel|stream|topic|subject|dm|pm-with|near|with|)$/.test(part))

export const encode = (text: string): string =>
  encodeURIComponent(text)
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('.', '.2E')
    .replaceAll('%', '.')

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('.', '%'))
  } catch {
    return text
  }
}
