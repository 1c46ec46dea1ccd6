/**
 * The chat alone behind its TLS listener, as its process has it, over an organization that is filled at the first start.
 * `node tools/bench/chat-server.ts DIRECTORY USERS CHANNELS MESSAGES [SEARCHES | limited | PAGE]`; it says how long opening took and then its
 * port, writes the accounts' keys to `keys.json` in the directory, and ends with its standard input. With SEARCHES it does so
 * many of each kind, writes what they took to `searches.json` and ends. Calls have no limit but with `limited`, which has the usual ones.
 * PAGE is `chat-page.bin` of a build: the page for browsers.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Chat } from '../../firmware/chat/process/chat.ts'
import { ensureConversation, ensureTopic } from '../../firmware/chat/realm/messages/location.ts'
import { HAS_LINK } from '../../firmware/chat/realm/model/content-flags.ts'
import type { Channel, User } from '../../firmware/chat/realm/model/records.ts'
import { ROLES } from '../../firmware/chat/realm/model/roles.ts'
import { makeKey } from '../../firmware/chat/realm/objects/keys.ts'
import { subscribe } from '../../firmware/chat/realm/organization/channels/subscribe.ts'
import { addUser } from '../../firmware/chat/realm/organization/users/change.ts'
import type { MessageRow } from '../../firmware/chat/store/messages.ts'
import { measureSearches } from './chat-search.ts'
import { OWNER, OWNER_PASSWORD, openChat, serveChat } from './chat-serve.ts'
import { createTexts } from './chat-words.ts'

const TOPICS_PER_CHANNEL = 250
const SUBSCRIPTIONS_PER_USER = 20
const BATCH = 10_000 // messages in one transaction
const CONVERSATIONS = 2000
const GUEST_EVERY = 50
const CONVERSATION_EVERY = 10 // of so many messages one is a direct one
const LINK_EVERY = 50
const TOPIC_WORDS_MAX = 4

const directory = process.argv[2]!
const [users, channels, messages] = process.argv.slice(3).map(Number) as [number, number, number]
const option = process.argv[6] ?? ''
const searches = /^\d+$/.test(option) ? Number(option) : 0
const isNew = !existsSync(join(directory, 'chat.db'))

const startedMs = performance.now()
const opened = openChat(directory, { limited: option === 'limited' })
const { chat } = opened
const openedMs = performance.now() - startedMs
if (isNew) await fill(chat)
if (searches > 0) {
  const accounts = JSON.parse(readFileSync(join(directory, 'keys.json'), 'utf8'))
  writeFileSync(join(directory, 'searches.json'), JSON.stringify(await measureSearches(chat, accounts, searches)))
  chat.close()
  process.exit(0)
}
console.log(`opened in ${openedMs} ms`)
await serveChat(opened, option.endsWith('.bin') ? pathToFileURL(option) : null)

async function fill({ realm, createOrganization }: Chat): Promise<void> {
  const first = await createOrganization({ name: 'Benchmark', url: '', owner: OWNER }, OWNER_PASSWORD)
  const people: User[] = [first]
  realm.transaction((turn) => {
    for (let n = people.length; n < users; n++)
      people.push(
        addUser(realm, turn, {
          email: `u${n}@example.org`,
          fullName: `User ${n}`,
          role: n % GUEST_EVERY === 1 ? ROLES.guest : ROLES.member,
        }),
      )
  })
  const places: Channel[] = []
  realm.transaction((turn) => {
    for (let n = 0; n < channels; n++) {
      const channel = channelOf(turn.nextId('channel'), turn.nextId('recipient'), `channel ${n}`, first)
      turn.put('channel', channel)
      places.push(channel)
    }
  })
  // Everybody is in the first channel, and in some others.
  realm.transaction((turn) => {
    const pairs = people.flatMap((user, n) => {
      const own = Array.from(
        { length: Math.min(SUBSCRIPTIONS_PER_USER, channels) - 1 },
        (_, k) => places[1 + ((n + k * 7) % (channels - 1))]!,
      )
      return [places[0]!, ...new Set(own)].map((channel) => ({ user, channel }))
    })
    subscribe(realm, turn, pairs)
  })
  const texts = createTexts(1)
  const conversations = realm.transaction((turn) =>
    Array.from({ length: CONVERSATIONS }, (_, n) => {
      const first = people[n % users]!
      const pair = [first, people[texts.below(users)]!]
      return ensureConversation(
        realm,
        turn,
        first,
        pair.map(({ id }) => id),
      )
    }),
  )
  const topicNames = Array.from(
    { length: TOPICS_PER_CHANNEL * channels },
    (_, n) => `${texts.text(1 + (n % TOPIC_WORDS_MAX))} ${n}`,
  )
  const addMessage = (n: number): void => {
    const content = texts.text(6 + (n % 10))
    const bits = n % LINK_EVERY === 0 ? HAS_LINK : 0
    if (n % CONVERSATION_EVERY === 0) {
      const { recipientId, userIds } = conversations[texts.below(CONVERSATIONS)]!
      put(realm, n, { sender: userIds[0]!, recipient: recipientId, topic: 0, content, bits })
      return
    }
    const at = texts.below(channels)
    const channel = places[at]!
    const topic = ensureTopic(realm, channel, topicNames[at * TOPICS_PER_CHANNEL + texts.below(TOPICS_PER_CHANNEL)]!)
    const sender = people[texts.below(users)]!.id
    put(realm, n, { sender, recipient: channel.recipientId, topic, content, bits })
  }
  for (let from = 0; from < messages; from += BATCH)
    realm.transaction(() => {
      for (let n = from; n < Math.min(messages, from + BATCH); n++) addMessage(n)
    })
  const keys = realm.transaction((turn) =>
    people.map((user) => ({ email: user.email, key: makeKey(realm, turn, user, 'bench') })),
  )
  writeFileSync(join(directory, 'keys.json'), JSON.stringify(keys))
}

function put(
  { store }: Chat['realm'],
  n: number,
  message: Pick<MessageRow, 'sender' | 'recipient' | 'topic' | 'content' | 'bits'>,
): void {
  store.messages.add({
    ...message,
    time: 1_700_000_000 + n,
    birth: message.recipient,
    ordinal: store.messages.nextOrdinal(message.recipient),
    client: 'bench',
    html: `<p>${message.content}</p>`,
    extra: '{}',
  })
}

function channelOf(id: number, recipientId: number, name: string, creator: User): Channel {
  return {
    id,
    recipientId,
    name,
    description: '',
    renderedDescription: '',
    dateCreated: 1_700_000_000,
    creatorId: creator.id,
    isPrivate: false,
    isWebPublic: false,
    historyPublicToSubscribers: true,
    isArchived: false,
    messageRetentionDays: null,
    topicsPolicy: 'inherit',
    folderId: null,
    firstMessageId: null,
    isDefault: false,
    groupSettings: {},
  }
}
