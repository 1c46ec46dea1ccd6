/** Narrows of event queues, which select the messages that a client receives. Contract section 4.1, `narrow`. */

import { defined } from '../../../base/defined.ts'
import { ChatError } from '../../base/error.ts'
import { fold } from '../model/names.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { meantTopic } from '../model/topic-names.ts'
import { policyOf } from '../objects/user-topics.ts'
import { isResolved, type MessageLocation } from './location.ts'

type Term = readonly [operator: string, operand: string]

interface NarrowedMessage {
  location: MessageLocation
  sender: User
  senderAddress: string
  flags: readonly string[]
  isFollowed: boolean
}

type Rule = (sent: NarrowedMessage, operand: string) => boolean

const RULES: Readonly<Record<string, Rule>> = {
  channel: ({ location }, operand) =>
    location.kind === 'channel' &&
    (String(location.channel.id) === operand || fold(location.channel.name) === fold(operand)),
  topic: ({ location }, operand) => location.kind === 'channel' && fold(location.topic) === fold(meantTopic(operand)),
  sender: ({ sender, senderAddress }, operand) =>
    String(sender.id) === operand || senderAddress.toLowerCase() === operand.toLowerCase(),
}

const IS: Readonly<Record<string, (sent: NarrowedMessage) => boolean>> = {
  channel: ({ location }) => location.kind === 'channel',
  stream: ({ location }) => location.kind === 'channel',
  dm: ({ location }) => location.kind === 'conversation',
  private: ({ location }) => location.kind === 'conversation',
  mentioned: ({ flags }) => flags.includes('mentioned') || flags.includes('wildcard_mentioned'),
  alerted: ({ flags }) => flags.includes('has_alert_word'),
  starred: ({ flags }) => flags.includes('starred'),
  unread: ({ flags }) => !flags.includes('read'),
  resolved: ({ location }) => location.kind === 'channel' && isResolved(location.topic),
  followed: ({ isFollowed }) => isFollowed,
}

const ALIASES: Readonly<Record<string, string>> = { stream: 'channel', from: 'sender', subject: 'topic' }

/** Throws `BAD_NARROW` for an operator that queues do not support. */
export function expectQueueNarrow(narrow: readonly Term[]): void {
  for (const [operator, operand] of narrow) {
    const known = operator === 'is' ? Object.hasOwn(IS, operand) : Object.hasOwn(RULES, ALIASES[operator] ?? operator)
    if (known) continue
    const desc = `Operator ${operator} not supported.`
    throw new ChatError('BAD_NARROW', `Invalid narrow: ${desc}`, { desc })
  }
}

export const passesNarrow = (narrow: readonly Term[], sent: NarrowedMessage): boolean =>
  narrow.every(([operator, operand]) =>
    operator === 'is' ? defined(IS[operand])(sent) : defined(RULES[ALIASES[operator] ?? operator])(sent, operand),
  )

export const isFollowedBy = (realm: Realm, userId: number, location: MessageLocation): boolean =>
  location.kind === 'channel' && policyOf(realm, userId, location.channel, location.topic) === 3
