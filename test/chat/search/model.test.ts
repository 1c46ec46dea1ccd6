// @test short slow
/**
 * Searches against a plain filter over all messages, while these are sent, edited, deleted and moved: contract section 5.2,
 * rows E9, E11, E13.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { openDatabase } from '../../../firmware/chat/store/database.ts'
import { MIGRATIONS } from '../../../firmware/chat/store/schema.ts'
import { deriveSealKey } from '../../../firmware/crypto/seal.ts'
import { scratchDirectory } from '../durability/open.ts'
import { Random } from '../model/operations.ts'
import { CHAT_KEY, type Client, openTestChat, type TestChat } from '../support/chat.ts'
import { type PlainText, plainSearch, plainText } from './plain.ts'

const IS_SLOW = process.env.COFFER_SLOW !== undefined
const MESSAGES = IS_SLOW ? 20_000 : 800
const SEARCHES = IS_SLOW ? 10_000 : 600
const ROUNDS = IS_SLOW ? 10 : 3
const SEED = Number(process.env.COFFER_SEED ?? 22)
const WITHIN = 30 // messages that are asked for

/** Words that begin alike, differ in accents or form, run into each other, or have no spaces. */
const WORDS = [
  ...['te', 'tea', 'team', 'teams', 'teapot', 'Tea-time', 'herring', 'her', 'the', 'The', 'then', 'x2', 'v1.2', 'v12'],
  ...['Été', 'ete', 'ﬁnal', 'final', 'Ⅳ', 'iv', 'straße', 'naïve', 'C++', 'a_b', '３３', '33', '½'],
  ...[
    '日本',
    '日本語',
    '本日',
    '本',
    '語学',
    'すし',
    'スシ',
    'ラーメン',
    '東京v2',
    'v2東京',
    '漢字かな',
    '𠀋𠀋',
    'אבג',
    'привет',
  ],
] as const
const TOPICS = ['tea', 'Team talk', 'herring', '日本 the', 'ete', 'final v1.2', '語学'] as const
const SILENTLY = { send_notification_to_old_thread: false, send_notification_to_new_thread: false }

interface Channel {
  id: number
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
  words: PlainText
}

interface Reader {
  client: Client
  id: number
  isGuest: boolean
}

test(`${SEARCHES} searches over ${MESSAGES} messages find what a plain filter finds`, async (t) => {
  const world = await openWorld(scratchDirectory(t))
  t.after(() => world.rig.close())
  let found = 0
  for (let round = 0; round < ROUNDS; round++) {
    for (let count = 0; count < MESSAGES / ROUNDS; count++) await world.act()
    for (let count = 0; count < SEARCHES / ROUNDS; count++) found += await world.search()
    if (round === 0) await forgetIndex(world)
  }
  while (!world.rig.chat.realm.store.words.isSettled) world.settle()
  for (let count = 0; count < SEARCHES / ROUNDS; count++) found += await world.search()
  assert.ok(found > SEARCHES / 4, `${found} messages were found`)
  assert.deepEqual(world.rig.logged, [])
})

/** As if it were of a version that had other words; it is made anew while messages are written and searched for. */
async function forgetIndex({ rig, act, search }: World): Promise<void> {
  rig.pause()
  const key = deriveSealKey(CHAT_KEY, 'chat.db')
  const { database, close } = openDatabase({ path: `${rig.directory}/chat.db`, key, migrations: MIGRATIONS })
  database.exec("UPDATE counters SET value = 0 WHERE name = 'words version'")
  close()
  rig.resume()
  assert.equal(rig.chat.realm.store.words.isComplete, false)
  for (let count = 0; count < 20; count++) {
    await act()
    await search()
  }
  while (!rig.chat.realm.store.words.isComplete) await turn()
}

interface World {
  rig: TestChat
  /** A step of what the chat does by itself after some seconds: messages under names that their topics had before. */
  settle(): void
  act(): Promise<void>
  search(): Promise<number>
}

async function openWorld(directory: string): Promise<World> {
  const rig = await openTestChat({ directory })
  const random = new Random(SEED)
  const readers: Reader[] = ['hamlet', 'ophelia', 'guest'].map((name) => {
    const isGuest = name === 'guest'
    const client = rig.account(name, isGuest ? ROLES.guest : ROLES.member)
    return { client, id: client.user.id, isGuest }
  })
  const clients = [rig.owner, ...readers.map(({ client }) => client)]
  const channels = (['public', 'shared', 'protected', 'public', 'protected'] as const).map((kind, at): Channel => {
    const values = { isPrivate: kind !== 'public', historyPublicToSubscribers: kind !== 'protected' }
    const { id } = rig.channel(`channel ${at}`, clients, values)
    return { id, kind, subscribers: new Set(clients.map(({ user }) => user.id)) }
  })
  const messages: Message[] = []

  /** The first ones most often, so that some have more than is looked through without an index. */
  const skewed = <T>(list: readonly T[]): T => list[random.below(1 + random.below(list.length))]!
  const text = (): string => Array.from({ length: 1 + random.below(6) }, () => random.of(WORDS)).join(' ')

  async function send(sender: Reader): Promise<void> {
    const content = text()
    const words = plainText(content)
    if (random.chance(0.3)) {
      const people = [...new Set([sender.id, skewed(readers).id, skewed(readers).id])].sort((a, b) => a - b)
      const { id } = await sender.client.post('/messages', { type: 'direct', to: people, content })
      messages.push({ id, sender: sender.id, channel: null, topic: '', people, receivers: new Set(people), words })
      return
    }
    const channel = skewed(channels)
    if (!channel.subscribers.has(sender.id)) return
    const topic = skewed(TOPICS)
    const { id } = await sender.client.post('/messages', { type: 'channel', to: channel.id, topic, content })
    const receivers = new Set(channel.subscribers)
    messages.push({ id, sender: sender.id, channel, topic, people: [], receivers, words })
  }

  async function edit(message: Message): Promise<void> {
    const { client } = readers.find(({ id }) => id === message.sender)!
    const content = text()
    const { status } = await client.call('PATCH', `/messages/${message.id}`, { content })
    if (status === 200) message.words = plainText(content)
  }

  async function remove(message: Message): Promise<void> {
    const client = message.channel === null ? readers.find(({ id }) => id === message.sender)!.client : rig.owner
    const { status } = await client.call('DELETE', `/messages/${message.id}`)
    if (status === 200) messages.splice(messages.indexOf(message), 1)
  }

  /** The owner is in all channels since they were made. */
  async function move(message: Message): Promise<void> {
    const to = random.chance(0.5) ? skewed(channels) : message.channel!
    const topic = skewed(TOPICS)
    const propagate_mode = random.of(['change_one', 'change_later', 'change_all'])
    const { status } = await rig.owner.call('PATCH', `/messages/${message.id}`, {
      topic,
      ...(to !== message.channel && { stream_id: to.id }),
      propagate_mode,
      ...SILENTLY,
    })
    if (status !== 200) return
    const [from, before] = [message.channel, message.topic]
    for (const other of messages) {
      if (other.channel !== from || other.topic !== before) continue
      const isMeant = propagate_mode === 'change_all' || (propagate_mode === 'change_later' && other.id > message.id)
      if (isMeant || other === message) Object.assign(other, { channel: to, topic })
    }
  }

  function settle(): void {
    const { store } = rig.chat.realm
    store.transaction(() => store.words.index(1 + random.below(20)))
  }

  async function act(): Promise<void> {
    const sender = skewed(readers)
    const message = messages.length === 0 ? undefined : random.of(messages)
    if (random.chance(0.1)) settle()
    const chance = random.below(100)
    if (chance < 75 || message === undefined) return send(sender)
    if (chance < 85) return edit(message)
    if (chance < 90) return remove(message)
    if (chance < 98) return message.channel === null ? undefined : move(message)
    const channel = random.of(channels)
    const isIn = channel.subscribers.has(sender.id)
    const subscriptions = isIn
      ? [`channel ${channels.indexOf(channel)}`]
      : [{ name: `channel ${channels.indexOf(channel)}` }]
    const values = { subscriptions, principals: [sender.id], ...(!isIn && { send_new_subscription_messages: false }) }
    await rig.owner[isIn ? 'delete' : 'post']('/users/me/subscriptions', values)
    if (isIn) channel.subscribers.delete(sender.id)
    else channel.subscribers.add(sender.id)
  }

  const canRead = (reader: Reader, { channel, people, receivers }: Message): boolean => {
    if (channel === null) return people.includes(reader.id)
    const isIn = channel.subscribers.has(reader.id)
    if (channel.kind === 'public') return isIn || !reader.isGuest
    return isIn && (channel.kind === 'shared' || receivers.has(reader.id))
  }

  function searched(): string {
    const word = (): string => {
      const whole = random.of(WORDS)
      const characters = [...whole]
      return random.chance(0.5) ? whole : characters.slice(0, 1 + random.below(characters.length)).join('')
    }
    const piece = (): string => {
      if (random.chance(0.3)) return `"${random.of(WORDS)} ${random.of(WORDS)}"`
      return random.chance(0.2) ? `${word()}-${word()}` : word()
    }
    return Array.from({ length: 1 + random.below(3) }, piece).join(' ')
  }

  type Restriction = { term: object; isShared?: boolean; holds(message: Message): boolean }

  function restriction(reader: Reader): Restriction | null {
    const channel = skewed(channels)
    const user = skewed(readers)
    const pair = [...new Set([reader.id, user.id])].sort((a, b) => a - b).join()
    const visible = channel.subscribers.has(reader.id) || (channel.kind === 'public' && !reader.isGuest)
    const topic = skewed(TOPICS)
    return random.of<() => Restriction | null>([
      () => null,
      () => ({ term: { operator: 'sender', operand: user.id }, holds: ({ sender }) => sender === user.id }),
      () => ({ term: { operator: 'is', operand: 'dm' }, holds: ({ channel }) => channel === null }),
      () => ({ term: { operator: 'dm', operand: [user.id] }, holds: ({ people }) => people.join() === pair }),
      () => ({ term: { operator: 'dm-including', operand: user.id }, holds: ({ people }) => people.includes(user.id) }),
      () => ({ term: { operator: 'topic', operand: topic }, holds: (message) => message.topic === topic }),
      () => {
        const term = { operator: 'channels', operand: 'public' }
        return { term, isShared: true, holds: ({ channel }) => channel?.kind === 'public' }
      },
      () => {
        if (!visible) return null
        const term = { operator: 'channel', operand: channel.id }
        return { term, isShared: true, holds: (message) => message.channel === channel }
      },
      () => {
        const operand = searched()
        const search = plainSearch(operand)
        const term = { operator: 'search', operand, negated: true }
        return { term, holds: ({ topic, words }) => !search(plainText(topic), words) }
      },
    ])()
  }

  const topicWords = new Map<string, PlainText>(['', ...TOPICS].map((topic) => [topic, plainText(topic)]))

  async function search(): Promise<number> {
    const reader = random.of(readers)
    const operand = searched()
    const isFound = plainSearch(operand)
    const limits = [restriction(reader), restriction(reader)].filter((limit) => limit !== null)
    const isShared = limits.some((limit) => limit.isShared === true)
    const expected = messages
      .filter(
        (message) =>
          isFound(topicWords.get(message.topic)!, message.words) &&
          limits.every((limit) => limit.holds(message)) &&
          canRead(reader, message) &&
          (isShared || message.receivers.has(reader.id)),
      )
      .map(({ id }) => id)
    const anchor = random.chance(0.5) ? messages.at(-1)!.id + 1 : random.of(messages).id
    const narrow = [{ operator: 'search', operand }, ...limits.map(({ term }) => term)]
    const window = { anchor, num_before: WITHIN, num_after: WITHIN, include_anchor: true }
    const answer = await reader.client.get('/messages', { ...window, narrow })
    const wanted = [
      ...expected.filter((id) => id < anchor).slice(-WITHIN),
      ...expected.filter((id) => id === anchor),
      ...expected.filter((id) => id > anchor).slice(0, WITHIN),
    ]
    assert.deepEqual(
      answer.messages.map(({ id }: { id: number }) => id),
      wanted,
      `seed ${SEED}, ${reader.client.user.fullName}: ${JSON.stringify(narrow)} at ${anchor}`,
    )
    return wanted.length
  }

  return { rig, settle, act, search }
}
