/** Narrows against a plain filter over all messages, for random histories, narrows, anchors and readers: contract section 5. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import type { Client } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

function sequence(seed: number) {
  let state = seed
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
  return { below, pick: <T>(list: readonly T[]): T => list[below(list.length)]! }
}

interface Channel {
  id: number
  name: string
  kind: 'public' | 'shared' | 'protected'
  subscribers: Set<number>
}

interface Message {
  id: number
  sender: number
  channel: Channel | null
  topic: string
  people: readonly number[]
  receivers: ReadonlySet<number>
  starred: Set<number>
  read: Set<number>
  hasReaction: boolean
  hasLink: boolean
  mentioned: ReadonlySet<number>
  text: string
}

/** Properties of each message for one reader. */
interface Reader {
  client: Client
  id: number
  isGuest: boolean
}

const SILENTLY = { send_new_subscription_messages: false }

const TOPICS = ['', 'fish', 'Chips', '✔ done'] as const
const WORDS = ['herring', 'tea', 'biscuit', 'marmalade'] as const

const readers: Reader[] = []
const channels: Channel[] = []
const messages: Message[] = []
const policies = new Map<string, number>()
const mutedChannels = new Set<string>()
const random = sequence(20_261_124)

const canRead = (reader: Reader, message: Message): boolean => {
  if (message.channel === null) return message.people.includes(reader.id)
  const { kind, subscribers } = message.channel
  const isIn = subscribers.has(reader.id)
  if (kind === 'public') return isIn || !reader.isGuest
  return isIn && (kind === 'shared' || received(reader, message))
}
const received = (reader: Reader, message: Message): boolean => message.receivers.has(reader.id)
const isUnread = (reader: Reader, message: Message): boolean =>
  received(reader, message) && !message.read.has(reader.id)
const policyOf = (reader: Reader, message: Message): number =>
  policies.get(`${reader.id} ${message.channel?.id} ${message.topic.toLowerCase()}`) ?? 0
const isMuted = (reader: Reader, message: Message): boolean => {
  if (message.channel === null) return false
  const policy = policyOf(reader, message)
  return policy === 0 ? mutedChannels.has(`${reader.id} ${message.channel.id}`) : policy === 1
}

type Predicate = (message: Message) => boolean
interface RandomTerm {
  term: { operator: string; operand: unknown; negated?: boolean }
  holds: Predicate
}

function randomTerm(reader: Reader): RandomTerm {
  const user = random.pick(readers)
  const visible = channels.filter(
    ({ kind, subscribers }) => subscribers.has(reader.id) || (kind === 'public' && !reader.isGuest),
  )
  const channel = random.pick(visible)
  const topic = random.pick(TOPICS)
  const word = random.pick(WORDS)
  const term = (operator: string, operand: unknown, holds: Predicate): RandomTerm => ({
    term: { operator, operand },
    holds,
  })
  const choices: (() => RandomTerm)[] = [
    () => term('channel', random.pick([channel.id, channel.name]), (message) => message.channel === channel),
    () => term('channels', 'public', (message) => message.channel?.kind === 'public'),
    () => term('topic', topic.toUpperCase(), (message) => message.channel !== null && message.topic === topic),
    () => term('sender', random.pick([user.id, user.client.user.email]), (message) => message.sender === user.id),
    () => term('sender', 'me', (message) => message.sender === reader.id),
    () => {
      const people = [...new Set([reader.id, user.id])].sort((a, b) => a - b).join()
      return term('dm', [user.id], (message) => message.channel === null && message.people.join() === people)
    },
    () => term('dm-including', user.id, (message) => message.channel === null && message.people.includes(user.id)),
    () => term('group-pm-with', user.id, (message) => message.people.length > 2 && message.people.includes(user.id)),
    () => term('is', random.pick(['dm', 'private']), (message) => message.channel === null),
    () => term('is', 'starred', (message) => message.starred.has(reader.id)),
    () => term('is', 'unread', (message) => isUnread(reader, message)),
    () => term('is', 'mentioned', (message) => message.mentioned.has(reader.id)),
    () => term('is', 'resolved', (message) => message.topic.startsWith('✔ ')),
    () => term('is', 'followed', (message) => policyOf(reader, message) === 3),
    () => term('is', 'muted', (message) => isMuted(reader, message)),
    () => term('in', 'home', (message) => !isMuted(reader, message)),
    () => term('in', 'all', () => true),
    () => term('has', 'reaction', (message) => message.hasReaction),
    () => term('has', 'link', (message) => message.hasLink),
    () => term('search', word, (message) => message.text.includes(word)),
    () => term('mentions', user.id, (message) => message.mentioned.has(user.id)),
    () => {
      const message = random.pick(messages)
      return term('id', message.id, ({ id }) => id === message.id)
    },
  ]
  const chosen = random.pick(choices)()
  if (random.below(5) > 0) return chosen
  return { term: { ...chosen.term, negated: true }, holds: (message) => !chosen.holds(message) }
}

function randomNarrow(reader: Reader): { narrow: unknown[]; expected: Message[] } {
  const terms = Array.from({ length: random.below(4) }, () => randomTerm(reader))
  const sharesHistory = terms.some(({ term }) => term.operator.startsWith('channel') && term.negated !== true)
  const expected = messages.filter(
    (message) =>
      canRead(reader, message) &&
      (sharesHistory || received(reader, message)) &&
      terms.every(({ holds }) => holds(message)),
  )
  return { narrow: terms.map(({ term }) => term), expected }
}

async function send(reader: Reader): Promise<void> {
  const word = random.pick(WORDS)
  const mentioned = random.below(6) === 0 ? random.pick(readers) : undefined
  const hasLink = random.below(5) === 0
  const text = `some ${word}${hasLink ? ' https://example.com/x' : ''}`
  const content = `${text}${mentioned === undefined ? '' : ` @**${mentioned.client.user.fullName}**`}`
  const message = {
    sender: reader.id,
    starred: new Set<number>(),
    read: new Set<number>(),
    hasReaction: false,
    hasLink,
    text,
  }
  if (random.below(3) === 0) {
    const people = [...new Set([reader.id, random.pick(readers).id, random.pick(readers).id])].sort((a, b) => a - b)
    const { id } = await reader.client.post('/messages', { type: 'direct', to: people, content })
    messages.push({
      ...message,
      id,
      channel: null,
      topic: '',
      people,
      receivers: new Set(people),
      mentioned: mentions(people),
    })
    return
  }
  const open = channels.filter(({ subscribers }) => subscribers.has(reader.id))
  if (open.length === 0) return
  const channel = random.pick(open)
  const topic = random.pick(TOPICS)
  const { id } = await reader.client.post('/messages', { type: 'stream', to: channel.id, topic, content })
  const receivers = new Set(channel.subscribers)
  messages.push({ ...message, id, channel, topic, people: [], receivers, mentioned: mentions(receivers) })

  function mentions(receivers: Iterable<number>): Set<number> {
    return new Set([...receivers].filter((id) => id === mentioned?.id))
  }
}

async function act(): Promise<void> {
  const reader = random.pick(readers)
  const channel = random.pick(channels)
  const message = messages.length === 0 ? undefined : random.pick(messages)
  const kind = random.below(10)
  if (kind < 5 || message === undefined) return send(reader)
  if (kind === 5) {
    const isIn = channel.subscribers.has(reader.id)
    const values = {
      subscriptions: isIn ? [channel.name] : [{ name: channel.name }],
      principals: [reader.id],
      ...(!isIn && SILENTLY),
    }
    await rig.owner[isIn ? 'delete' : 'post']('/users/me/subscriptions', values)
    if (isIn) {
      channel.subscribers.delete(reader.id)
      for (const message of messages) if (message.channel === channel) message.read.add(reader.id)
    } else channel.subscribers.add(reader.id)
    return
  }
  if (!canRead(reader, message) || !received(reader, message)) return
  if (kind === 6) {
    await reader.client.post('/messages/flags', { messages: [message.id], op: 'add', flag: 'starred' })
    message.starred.add(reader.id)
  } else if (kind === 7) {
    await reader.client.post('/messages/flags', { messages: [message.id], op: 'add', flag: 'read' })
    message.read.add(reader.id)
  } else if (message.channel?.subscribers.has(reader.id)) {
    const stream_id = message.channel.id
    if (kind === 8) {
      const visibility_policy = random.below(4)
      await reader.client.post('/user_topics', { stream_id, topic: message.topic, visibility_policy })
      policies.set(`${reader.id} ${stream_id} ${message.topic.toLowerCase()}`, visibility_policy)
    } else {
      const value = random.below(2) === 0
      const subscription_data = [{ stream_id, property: 'is_muted', value }]
      await reader.client.post('/users/me/subscriptions/properties', { subscription_data })
      if (value) mutedChannels.add(`${reader.id} ${stream_id}`)
      else mutedChannels.delete(`${reader.id} ${stream_id}`)
    }
  }
}

const { rig } = await chatSuite()
for (const name of ['hamlet', 'cordelia', 'iago']) {
  const client = rig.account(name)
  readers.push({ client, id: client.user.id, isGuest: false })
}
const guest = rig.account('polonius', ROLES.guest)
readers.push({ client: guest, id: guest.user.id, isGuest: true })
const settings = {
  automatically_follow_topics_policy: 4,
  automatically_unmute_topics_in_muted_streams_policy: 4,
  automatically_follow_topics_where_mentioned: false,
}
for (const { client } of readers) {
  rig.chat.realm.transaction((turn) =>
    turn.put('user', { ...rig.chat.realm.state.user.get(client.user.id)!, settings }),
  )
}
for (const kind of ['public', 'shared', 'protected', 'public', 'shared', 'protected'] as const) {
  const name = `${kind} ${channels.length}`
  await rig.owner.post('/users/me/subscriptions', {
    subscriptions: [{ name }],
    invite_only: kind !== 'public',
    ...(kind === 'shared' && { history_public_to_subscribers: true }),
  })
  const { stream_id: id } = await rig.owner.get('/get_stream_id', { stream: name })
  await rig.owner.post('/users/me/subscriptions', {
    subscriptions: [{ name }],
    principals: readers.map(({ id }) => id),
    ...SILENTLY,
  })
  channels.push({ id, name, kind, subscribers: new Set(readers.map(({ id }) => id)) })
}
for (let step = 0; step < 400; step++) await act()

const idsOf = (list: readonly { id: number }[]) => list.map(({ id }) => id)

describe('A narrow', () => {
  it('fetches what a plain filter over all messages finds (E9)', async () => {
    let empty = 0
    for (let round = 0; round < 150; round++) {
      const reader = random.pick(readers)
      const { narrow, expected } = randomNarrow(reader)
      if (expected.length === 0) empty++
      const values = { anchor: 'oldest', num_before: 0, num_after: 5000, narrow }
      const answer = await reader.client.get('/messages', values)
      assert.deepEqual(idsOf(answer.messages), idsOf(expected), `${reader.client.user.email} ${JSON.stringify(narrow)}`)
      assert.deepEqual([answer.found_oldest, answer.found_newest], [true, true])
    }
    assert.ok(empty < 110, `${empty} narrows found nothing`)
  })

  it('fetches so many before and after an anchor (E9)', async () => {
    for (let round = 0; round < 150; round++) {
      const reader = random.pick(readers)
      const { narrow, expected } = randomNarrow(reader)
      const anchor = random.below(messages.at(-1)!.id + 2)
      const [num_before, num_after] = [random.below(8), random.below(8)]
      const older = idsOf(expected).filter((id) => id < anchor)
      const newer = idsOf(expected).filter((id) => id > anchor)
      const own = idsOf(expected).filter((id) => id === anchor)
      const answer = await reader.client.get('/messages', { anchor, num_before, num_after, narrow })
      const ids = [...(num_before === 0 ? [] : older.slice(-num_before)), ...own, ...newer.slice(0, num_after)]
      assert.deepEqual(idsOf(answer.messages), ids, JSON.stringify({ narrow, anchor, num_before, num_after }))
      assert.deepEqual(
        [answer.anchor, answer.found_anchor, answer.found_oldest, answer.found_newest],
        [anchor, own.length > 0, anchor === 0 || older.length < num_before, newer.length < num_after],
      )
    }
  })

  it('begins at what is unread, and passes over what is muted where it is wide (E9)', async () => {
    for (let round = 0; round < 100; round++) {
      const reader = random.pick(readers)
      const { narrow, expected } = randomNarrow(reader)
      const isOne = (narrow as { operator: string; negated?: boolean }[]).some(
        ({ operator, negated }) => negated !== true && (operator === 'topic' || operator === 'dm'),
      )
      const unread = expected.find((message) => isUnread(reader, message) && (isOne || !isMuted(reader, message)))
      const values = { anchor: 'first_unread', num_before: 0, num_after: 0, narrow }
      const { anchor } = await reader.client.get('/messages', values)
      assert.equal(anchor, unread?.id ?? 10_000_000_000_000_000, JSON.stringify(narrow))
    }
  })

  it('is asked of messages by their ids (E9, E24)', async () => {
    for (let round = 0; round < 100; round++) {
      const reader = random.pick(readers)
      const { narrow, expected } = randomNarrow(reader)
      const ids = Array.from({ length: 20 }, () => random.pick(messages).id)
      const matching = idsOf(expected).filter((id) => ids.includes(id))
      const answer = await reader.client.get('/messages', { message_ids: ids, narrow })
      assert.deepEqual(idsOf(answer.messages), matching)
      assert.equal(answer.anchor, undefined)
      const { messages: matched } = await reader.client.get('/messages/matches_narrow', { msg_ids: ids, narrow })
      assert.deepEqual(Object.keys(matched).map(Number), matching)
    }
  })

  it('marks what it fetches (E19)', async () => {
    for (let round = 0; round < 60; round++) {
      const reader = random.pick(readers)
      const { narrow, expected } = randomNarrow(reader)
      const num_after = random.below(10)
      const marked = expected.slice(0, num_after)
      const changed = marked.filter((message) => isUnread(reader, message))
      const values = { anchor: 'oldest', num_before: 0, num_after, narrow, op: 'add', flag: 'read' }
      const answer = await reader.client.post('/messages/flags/narrow', values)
      assert.deepEqual(
        [answer.processed_count, answer.updated_count, answer.first_processed_id, answer.last_processed_id],
        [marked.length, changed.length, marked[0]?.id ?? null, marked.at(-1)?.id ?? null],
      )
      assert.deepEqual([answer.found_oldest, answer.found_newest], [true, expected.length < num_after])
      for (const message of changed) message.read.add(reader.id)
    }
  })
})
