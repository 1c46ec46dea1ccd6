/**
 * The chat alone behind its TLS listener, as its process has it, over an organization that is filled at the first start.
 * `node tools/bench/chat-server.ts DIRECTORY USERS CHANNELS MESSAGES`; it says how long opening took and then its port,
 * writes the accounts' keys to `keys.json` in the directory, and ends with its standard input.
 */

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClock } from '../../firmware/base/clock.ts'
import { createLog } from '../../firmware/base/log.ts'
import { type Chat, createChat } from '../../firmware/chat/chat.ts'
import { subscribe } from '../../firmware/chat/realm/channels/subscribe.ts'
import { makeKey } from '../../firmware/chat/realm/keys.ts'
import { ensureTopic } from '../../firmware/chat/realm/messages/places.ts'
import type { Channel, User } from '../../firmware/chat/realm/records.ts'
import { ROLES } from '../../firmware/chat/realm/roles.ts'
import { addUser } from '../../firmware/chat/realm/users/change.ts'
import { deriveKey } from '../../firmware/crypto/kdf.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { listenTls } from '../../firmware/http/server/listener.ts'

const TOPICS_PER_CHANNEL = 250
const SUBSCRIPTIONS_PER_USER = 20
const BATCH = 10_000 // messages in one transaction
const WORDS = 'the key was made in a room where nobody else may read what it signs and when we met there again'.split(
  ' ',
)
const CHEAP = { N: 2, r: 1, p: 1 } // of the one password that is made here
const UNLIMITED = { calls: 1e9, withinMs: 60_000 }

const [directory, ...counts] = process.argv.slice(2)
const [users, channels, messages] = counts.map(Number) as [number, number, number]
const log = createLog('error', ({ message }) => console.error(message))
const clock = createClock()
const isNew = !existsSync(join(directory!, 'chat.db'))

const startedMs = performance.now()
const chat = createChat({
  directory: directory!,
  chatKey: new Uint8Array(32).fill(1),
  log,
  clock,
  derive: async (password, salt, cost) => deriveKey(password, salt, cost),
  passwordCost: CHEAP,
  rateLimits: { account: UNLIMITED, address: UNLIMITED },
})
const openedMs = performance.now() - startedMs
if (isNew) await fill(chat)

const identity = await makeTlsIdentity(systemRandom)
const limits = { connectionsMax: 10_000 }
const { port } = await listenTls({
  app: { fetch: (request, env) => chat.api.fetch(request, env) },
  host: '127.0.0.1',
  port: 0,
  identity: () => identity,
  log,
  now: clock.now,
  limits,
})
console.log(`opened in ${openedMs} ms`)
console.log(`https://127.0.0.1:${port}: chat`)
process.stdin.resume().once('end', () => {
  chat.close()
  process.exit(0)
})

async function fill({ realm, createOrganization }: Chat): Promise<void> {
  const owner = { email: 'owner@example.org', fullName: 'Owner' }
  const first = await createOrganization({ name: 'Benchmark', url: '', owner }, 'password of the benchmark')
  const people: User[] = [first]
  realm.change((turn) => {
    for (let n = people.length; n < users; n++)
      people.push(addUser(realm, turn, { email: `u${n}@example.org`, fullName: `User ${n}`, role: ROLES.member }))
  })
  const places: Channel[] = []
  realm.change((turn) => {
    for (let n = 0; n < channels; n++) {
      const channel = channelOf(turn.nextId('channel'), turn.nextId('recipient'), `channel ${n}`, first)
      turn.put('channel', channel)
      places.push(channel)
    }
  })
  // Everybody is in the first channel, and in some others.
  realm.change((turn) => {
    const pairs = people.flatMap((user, n) => {
      const own = Array.from(
        { length: Math.min(SUBSCRIPTIONS_PER_USER, channels) - 1 },
        (_, k) => places[1 + ((n + k * 7) % (channels - 1))]!,
      )
      return [places[0]!, ...new Set(own)].map((channel) => ({ user, channel }))
    })
    subscribe(realm, turn, pairs)
  })
  for (let from = 0; from < messages; from += BATCH)
    realm.change(() => {
      for (let n = from; n < Math.min(messages, from + BATCH); n++) addMessage(realm, people, places, n)
    })
  const keys = realm.change((turn) =>
    people.map((user) => ({ email: user.email, key: makeKey(realm, turn, user, 'bench') })),
  )
  writeFileSync(join(directory!, 'keys.json'), JSON.stringify(keys))
}

function addMessage(realm: Chat['realm'], people: readonly User[], places: readonly Channel[], n: number): void {
  const channel = places[n % places.length]!
  const topic = ensureTopic(realm, channel, `topic ${(n * 13) % TOPICS_PER_CHANNEL}`)
  const content = Array.from({ length: 6 + (n % 10) }, (_, k) => WORDS[(n * 7 + k * 3) % WORDS.length]).join(' ')
  realm.store.messages.add({
    sender: people[(n * 31) % people.length]!.id,
    recipient: channel.recipientId,
    topic,
    time: 1_700_000_000 + n,
    birth: channel.recipientId,
    ordinal: realm.store.messages.nextOrdinal(channel.recipientId),
    bits: 0,
    client: 'bench',
    content,
    html: `<p>${content}</p>`,
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
