/** Sending messages. Contract section 3.2.1; V14. */

import { badRequest } from '../../base/error.ts'
import type { QueueOptions } from '../../events/queue.ts'
import { HAS_ATTACHMENT, HAS_IMAGE, HAS_LINK, IS_ME, IS_WIDGET } from '../model/content-flags.ts'
import type { MessageMetadata } from '../model/message-metadata.ts'
import { userSetting } from '../model/read-settings.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import type { Channel, User } from '../model/records.ts'
import { ROLES } from '../model/roles.ts'
import { organizationOf } from '../model/state.ts'
import type { Transaction } from '../model/transaction.ts'
import { isRecentlyActive } from '../objects/channel-traffic.ts'
import { claimUploads } from '../objects/upload-claims.ts'
import { policyOf, setUserTopic } from '../objects/user-topics.ts'
import { viewersOf } from '../permissions/channel-find.ts'
import { canRead } from '../permissions/channel-rights.ts'
import { cannotSee, type SenderVisibility } from '../permissions/user-access.ts'
import { placeholderAddress } from '../permissions/user-addresses.ts'
import { callBots } from './bot-calls.ts'
import { checkedContent } from './content.ts'
import { findDestination, type To } from './destination.ts'
import { mentionFlags, setRead } from './flags.ts'
import { ensureConversation, ensureTopic, findTopic, type MessageLocation, recipientsOf } from './location.ts'
import { expectMayMention, mentionBits } from './mentions.ts'
import { messageToJson } from './message-json.ts'
import { isFollowedBy, passesNarrow } from './narrows.ts'
import { type RenderedMessage, renderFor } from './rendering.ts'
import { type Choices, type Widget, widgetOf } from './widgets.ts'

export interface Outgoing {
  kind: 'channel' | 'direct'
  to: To
  topic: string | undefined
  content: string
  client: string
  /** Undefined: derived from the client's name. */
  readBySender: boolean | undefined
  /** Queue and local id under which the sender's client already shows the message. */
  local: { queueId: string; localId: string } | undefined
  choices?: Choices | undefined
}

export interface SentMessage {
  id: number
  /** The sender's new policy for the topic if the send changed it: 2 unmuted, 3 followed. */
  automaticPolicy: 2 | 3 | undefined
}

/** `record` runs in the same transaction. */
export function sendMessage(
  realm: Realm,
  sender: User,
  outgoing: Outgoing,
  record?: (sent: SentMessage) => void,
): SentMessage {
  const draft = draftOf(realm, sender, outgoing.content)
  return realm.transaction((tx) => {
    const sent = sendDraft(realm, tx, sender, outgoing, draft)
    record?.(sent)
    return sent
  })
}

export const send = (realm: Realm, tx: Transaction, sender: User, outgoing: Outgoing): SentMessage =>
  sendDraft(realm, tx, sender, outgoing, draftOf(realm, sender, outgoing.content))

/** Validated and rendered content. Prepare it before a transaction, which blocks the store. */
export interface RenderedDraft {
  content: string
  rendered: RenderedMessage
}

export function draftOf(realm: Realm, author: User, sent: string): RenderedDraft {
  const content = checkedContent(sent)
  return { content, rendered: renderFor(realm, author, content) }
}

function sendDraft(
  realm: Realm,
  tx: Transaction,
  sender: User,
  outgoing: Outgoing,
  { content, rendered }: RenderedDraft,
): SentMessage {
  const { client, local, choices } = outgoing
  if (choices !== undefined && sender.bot === null) throw badRequest('Only bots may send widget_content')
  const location = placeFor(realm, tx, sender, outgoing)
  expectMayMention(realm, sender, location, rendered)
  const isNewTopic = location.kind === 'channel' && findTopic(realm, location.channel, location.topic) === undefined
  const readBySender = outgoing.readBySender ?? isInteractive(outgoing.client)
  const widget: Widget | undefined =
    choices === undefined ? widgetOf(content) : { widget_type: 'zform', extra_data: choices }
  const id = deliver(realm, tx, { sender, location, content, rendered, client, readBySender, local, widget })
  const automaticPolicy =
    location.kind === 'channel' ? followBySending(realm, tx, sender, location, isNewTopic) : undefined
  return { id, automaticPolicy }
}

function placeFor(realm: Realm, tx: Transaction, sender: User, outgoing: Outgoing): MessageLocation {
  const destination = findDestination(realm, sender, outgoing)
  if (destination.kind === 'channel') return destination
  const ids = destination.people.map(({ id }) => id)
  return { kind: 'conversation', conversation: ensureConversation(realm, tx, sender, ids) }
}

/** Interactive clients: a user has read what they send. Contract section 3.2.1. */
const INTERACTIVE: ReadonlySet<string> = new Set([
  'website',
  'ios',
  'android',
  'zulipmobile',
  'zulipflutter',
  'zulipandroid',
  'zulipios',
  'zulipelectron',
  'zulipdesktop',
  'zulipterminal',
  'zulip-terminal',
  'snipe',
])

const isInteractive = (client: string): boolean => INTERACTIVE.has(client.toLowerCase())

interface Delivery {
  sender: User
  location: MessageLocation
  content: string
  rendered: RenderedMessage
  client: string
  readBySender: boolean
  local?: Outgoing['local']
  isReadBy?: (user: User) => boolean
  widget?: Widget | undefined
}

/** Sends a message of a service bot. No permission is required, and names in it mention no one. */
export function deliverNotice(
  realm: Realm,
  tx: Transaction,
  sender: User,
  location: MessageLocation,
  content: string,
  isReadBy: (user: User) => boolean = () => false,
): number {
  const rendered = { ...renderFor(realm, sender, content), ...NO_MENTIONS }
  const client = 'Internal'
  return deliver(realm, tx, { sender, location, content, rendered, client, readBySender: true, isReadBy })
}

const NO_MENTIONS = {
  users: new Set<number>(),
  groups: new Set<number>(),
  channelWildcard: false,
  topicWildcard: false,
}

function deliver(realm: Realm, tx: Transaction, delivery: Delivery): number {
  const { sender, location, content, rendered, client, local, widget } = delivery
  const { store } = realm
  const recipient = location.kind === 'channel' ? location.channel.recipientId : location.conversation.recipientId
  const topic = location.kind === 'channel' ? ensureTopic(realm, location.channel, location.topic) : 0
  const ordinal = store.messages.nextOrdinal(recipient)
  const wakes = location.kind === 'channel' && !isRecentlyActive(realm, location.channel, nowOf(realm))
  const row = {
    sender: sender.id,
    recipient,
    topic,
    time: nowOf(realm),
    birth: recipient,
    ordinal,
    bits: bitsOf(content, rendered) | (widget === undefined ? 0 : IS_WIDGET),
    client,
    content,
    html: rendered.html,
  }
  const id = store.messages.add({ ...row, extra: '{}' })
  const message = { ...row, id, arrival: 0, extra: '{}' }
  if (widget !== undefined) {
    message.extra = JSON.stringify(extraWith(widget, tx, sender, id))
    store.messages.update(message)
  }
  claimUploads(realm, tx, message, rendered.pathIds)

  const recipients = recipientsOf(realm, location)
  for (const botId of mentionedBots(realm, location, rendered, recipients)) {
    recipients.add(botId)
    store.flags.addHistory(botId, id)
  }
  const bits = mentionBits(realm, location, rendered, recipients)
  for (const [userId, bit] of bits) store.flags.setMention(userId, id, bit)
  const readers = new Set(readersFromTheStart(realm, delivery, recipients))
  for (const userId of readers) setRead(realm, userId, message)

  const flagsOf = (userId: number): string[] => [
    ...(readers.has(userId) || !recipients.has(userId) ? ['read'] : []),
    ...(recipients.has(userId) ? mentionFlags(bits.get(userId) ?? 0) : ['historical']),
  ]
  const blind = cannotSee(realm, strangersAmong(realm, location, sender, recipients), sender)
  const hears = ({ userId, narrow }: QueueOptions): boolean => {
    if (!recipients.has(userId) && realm.state.user.get(userId)?.role === ROLES.guest) return false
    if (narrow.length === 0) return true
    return passesNarrow(narrow, {
      location,
      sender,
      senderAddress: blind.has(userId) ? placeholderAddress(organizationOf(realm.state), sender.id) : sender.email,
      flags: flagsOf(userId),
      isFollowed: isFollowedBy(realm, userId, location),
    })
  }
  const publish = (to: ReadonlySet<number>, senderSight: SenderVisibility): void =>
    tx.publish({
      type: 'message',
      to,
      alsoPublic: senderSight === 'all' && location.kind === 'channel' && !location.channel.isPrivate,
      accepts: (queue) => (senderSight === 'all') !== blind.has(queue.userId) && hears(queue),
      make: ({ applyMarkdown, clientGravatar, can }) => ({
        message: messageToJson(realm, message, {
          applyMarkdown,
          clientGravatar,
          emptyTopic: can.empty_topic_name,
          senderSight,
        }),
      }),
      tail: ({ id, userId }) => ({
        flags: flagsOf(userId),
        ...(local !== undefined && local.queueId === id && { local_message_id: local.localId }),
      }),
    })
  publish(recipients, 'all')
  if (blind.size > 0) publish(blind, 'nothing')
  if (location.kind === 'channel') {
    if (location.channel.firstMessageId === null) setFirstMessage(realm, tx, location.channel, id)
    if (wakes) publishAwake(realm, tx, location.channel)
    followByMention(realm, tx, location, rendered, recipients)
  }
  callBots(realm, tx, { id, sender, location, mentioned: rendered.users, recipients })
  const delivered = { id, senderId: sender.id, recipient, topic, recipients, readers, mentions: bits }
  tx.onCommit(() => realm.onDelivered?.(delivered))
  return id
}

/** All recipients if the sender is not subscribed to the channel: some of them may not see the sender. Otherwise none. */
function strangersAmong(
  { state }: Realm,
  location: MessageLocation,
  sender: User,
  recipients: Iterable<number>,
): User[] {
  if (location.kind === 'conversation' || state.subscribersOf.get(location.channel.id).has(sender.id)) return []
  return [...recipients].map((id) => state.user.require(id))
}

function extraWith(widget: Widget, tx: Transaction, sender: User, messageId: number): MessageMetadata {
  const content = JSON.stringify(widget)
  const id = tx.nextId('submessage')
  return { submessages: [{ id, message_id: messageId, sender_id: sender.id, msg_type: 'widget', content }] }
}

export function bitsOf(content: string, { hasLink, hasImage, pathIds }: RenderedMessage): number {
  return (
    (hasLink ? HAS_LINK : 0) |
    (hasImage ? HAS_IMAGE : 0) |
    (pathIds.length > 0 ? HAS_ATTACHMENT : 0) |
    (content.startsWith('/me ') ? IS_ME : 0)
  )
}

/** Mentioned bots that can read the channel without being subscribed receive the message too. */
const mentionedBots = (
  realm: Realm,
  location: MessageLocation,
  { users }: RenderedMessage,
  recipients: ReadonlySet<number>,
): number[] =>
  location.kind === 'conversation'
    ? []
    : [...users].filter((id) => {
        const user = realm.state.user.get(id)
        return user?.bot != null && user.isActive && !recipients.has(id) && canRead(realm, user, location.channel)
      })

function* readersFromTheStart({ state }: Realm, delivery: Delivery, recipients: ReadonlySet<number>) {
  const { sender, readBySender, isReadBy } = delivery
  if (isReadBy !== undefined) for (const id of recipients) if (isReadBy(state.user.require(id))) yield id
  if (readBySender && recipients.has(sender.id)) yield sender.id
  for (const { userId, value } of state.mutedUsers.all())
    if (recipients.has(userId) && value.some(({ id }) => id === sender.id)) yield userId
}

/** `firstMessageId`: null if the channel has no messages left. */
export function setFirstMessage(realm: Realm, tx: Transaction, { id }: Channel, firstMessageId: number | null): void {
  const channel = realm.state.channel.require(id)
  tx.put('channel', { ...channel, firstMessageId })
  const body = { op: 'update', stream_id: id, name: channel.name, property: 'first_message_id', value: firstMessageId }
  tx.publish({ type: 'stream', to: viewersOf(realm, channel), make: () => body })
}

/** Values of the settings: 1 participate, 2 send, 3 start a topic, 4 never; each includes those after it. Contract section 2.7. */
const WHEN = { send: 2, start: 3 } as const

/** For a channel that was not recently active before this message. Contract section 2.3. */
function publishAwake(realm: Realm, tx: Transaction, channel: Channel): void {
  const body = { op: 'update', stream_id: channel.id, name: channel.name, property: 'is_recently_active', value: true }
  tx.publish({ type: 'stream', to: viewersOf(realm, channel), make: () => body })
}

/** Never lowers a policy. Returns undefined if it stays. */
function followBySending(
  realm: Realm,
  tx: Transaction,
  sender: User,
  { channel, topic }: MessageLocation & { kind: 'channel' },
  isNewTopic: boolean,
): 2 | 3 | undefined {
  if (sender.bot !== null) return undefined
  const occasion = isNewTopic ? WHEN.start : WHEN.send
  const isMuted = realm.state.subscriptionsOf.get(sender.id).get(channel.id)?.isMuted === true
  const follows = userSetting(sender, 'automatically_follow_topics_policy') <= occasion
  const unmutes = isMuted && userSetting(sender, 'automatically_unmute_topics_in_muted_streams_policy') <= occasion
  if (!follows && !unmutes) return undefined
  const policy = follows ? 3 : 2
  return raisePolicy(realm, tx, sender.id, channel, topic, policy) ? policy : undefined
}

function followByMention(
  realm: Realm,
  tx: Transaction,
  { channel, topic }: MessageLocation & { kind: 'channel' },
  { users }: RenderedMessage,
  recipients: ReadonlySet<number>,
): void {
  for (const id of users) {
    const user = realm.state.user.get(id)
    if (user === undefined || user.bot !== null || !recipients.has(id)) continue
    if (userSetting(user, 'automatically_follow_topics_where_mentioned')) raisePolicy(realm, tx, id, channel, topic, 3)
  }
}

function raisePolicy(
  realm: Realm,
  tx: Transaction,
  userId: number,
  channel: Channel,
  topic: string,
  policy: 2 | 3,
): boolean {
  const before = policyOf(realm, userId, channel, topic)
  if (before === policy || before === 3) return false
  if (before === 0 && !realm.usage.hasRoom('userTopic', userId)) return false // the user did not request it, so skip it at the limit
  setUserTopic(realm, tx, userId, channel, topic, policy)
  return true
}
