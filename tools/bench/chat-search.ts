/** What a search takes of the processor, in an organization that chat-server.ts has filled: without TLS, in this process. */

import { threadMs } from '../../firmware/base/step-size.ts'
import type { Chat } from '../../firmware/chat/chat.ts'
import { createTexts } from './chat-words.ts'
import { quantile } from './harness.ts'

const ANSWERED = 50 // messages
const WARM_UP = 20 // searches of a kind

export interface SearchTimes {
  p50: number
  p99: number
  max: number
}

type Account = { email: string; key: string }

/** Milliseconds by kind, and of all kinds together. */
export async function measureSearches(chat: Chat, accounts: readonly Account[], count: number) {
  const { random, below, word } = createTexts(7)
  const { store, state } = chat.realm
  const [maxId, channels] = [store.messages.maxId(), [...state.channel.all()]]
  const users = [...state.user.all()].map(({ id }) => id)
  const wordsOfOne = (): string[] => {
    for (;;) {
      const row = store.messages.get(1 + below(maxId))
      if (row !== undefined) return row.content.split(' ')
    }
  }
  const someWord = (): string => wordsOfOne()[0]!
  const within = (operator: string, operand: unknown, searched: string) => [
    { operator, operand },
    { operator: 'search', operand: searched },
  ]
  const everywhere = (searched: string) => [{ operator: 'search', operand: searched }]
  const inTopic = (searched: string) => {
    const channel = channels[below(channels.length)]!
    const topics = store.topics.list(channel.recipientId)
    const topic = topics[below(topics.length)]!
    return [{ operator: 'topic', operand: topic.name }, ...within('channel', channel.id, searched)]
  }
  const kinds: Record<string, () => object[]> = {
    'a word of some message': () => everywhere(someWord()),
    'a word, as often as it is written': () => everywhere(word()),
    'the beginning of a word': () => everywhere(someWord().slice(0, 3 + below(3))),
    'two words of one message': () => everywhere(wordsOfOne().slice(1, 3).join(' ')),
    'two words, a common and any': () => everywhere(`${word()} ${someWord()}`),
    'a phrase of three words': () => everywhere(`"${wordsOfOne().slice(2, 5).join(' ')}"`),
    'a word in one channel': () => within('channel', channels[below(channels.length)]!.id, someWord()),
    'a common word in one channel': () => within('channel', channels[below(channels.length)]!.id, word()),
    'a word in one topic': () => inTopic(someWord()),
    'a word of one sender': () => within('sender', users[below(users.length)], someWord()),
    'a word in direct messages': () => within('is', 'dm', someWord()),
    'a word in public channels': () => within('channels', 'public', someWord()),
    'a word with a link': () => within('has', 'link', someWord()),
    'no message at all': () => everywhere(`${word()}${Math.floor(random() * 1e6)}`),
  }
  console.log('processor time of a search, ms                p50       p99       max')
  const all: number[] = []
  const results: Record<string, SearchTimes> = {}
  for (const [kind, narrow] of Object.entries(kinds)) {
    const times: number[] = []
    for (let n = -WARM_UP; n < count; n++) {
      const account = accounts[below(accounts.length)]!
      const took = await timedSearch(chat, account, narrow())
      if (n >= 0) times.push(took)
    }
    all.push(...times)
    results[kind] = summed(kind, times)
  }
  results.all = summed('all of them', all)
  return results
}

function summed(kind: string, times: readonly number[]): SearchTimes {
  const figures = { p50: quantile(times, 0.5), p99: quantile(times, 0.99), max: Math.max(...times) }
  const columns = Object.values(figures).map((value) => value.toFixed(2).padStart(10))
  console.log(kind.padEnd(38) + columns.join(''))
  return figures
}

async function timedSearch({ api }: Chat, { email, key }: Account, narrow: readonly object[]): Promise<number> {
  const values = { anchor: 'newest', num_before: String(ANSWERED), num_after: '0', narrow: JSON.stringify(narrow) }
  const authorization = `Basic ${Buffer.from(`${email}:${key}`).toString('base64')}`
  const beganMs = threadMs()
  const answer = await api.request(`http://chat.example/api/v1/messages?${new URLSearchParams(values)}`, {
    headers: { authorization, host: 'chat.example' },
  })
  const text = await answer.text()
  const tookMs = threadMs() - beganMs
  if (answer.status !== 200) throw new Error(text)
  return tookMs
}
