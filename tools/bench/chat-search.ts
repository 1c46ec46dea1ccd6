/** Processor time of a search, in an organization that chat-server.ts has filled: without TLS, in this process. */

import { setImmediate as turn } from 'node:timers/promises'
import { threadMs } from '../../firmware/base/batch-size.ts'
import type { Chat } from '../../firmware/chat/process/chat.ts'
import { ROLES } from '../../firmware/chat/realm/model/roles.ts'
import { COMMONEST, createTexts } from './chat-words.ts'
import { quantile } from './harness.ts'
import { watchTurns } from './turns.ts'

const ANSWERED = '50' // messages, on either side of an anchor in the middle: what the web client asks for first
const WARM_UP = 20 // searches of a kind

interface SearchTimes {
  p50: number
  p99: number
  max: number
  /** The longest turn of the loop. */
  turn: number
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
  const ofSome = (wanted: RegExp): string => {
    for (;;) {
      const some = word()
      if (wanted.test(some)) return some
    }
  }
  const phrase = (words: readonly string[]): string => `"${words.join(' ')}"`
  const someChannel = (): number => channels[below(channels.length)]!.id
  const kinds: Record<string, () => object[]> = {
    'a word of some message': () => everywhere(someWord()),
    'a word, as often as it is written': () => everywhere(word()),
    'one of the five commonest': () => everywhere(COMMONEST[below(COMMONEST.length)]!),
    'the beginning of a word': () => everywhere(someWord().slice(0, 3 + below(3))),
    'Han or kana': () => everywhere(ofSome(/[^a-z]/)),
    'a character of Han or kana': () => everywhere([...ofSome(/[^a-z]/)][0]!),
    'two words of one message': () => everywhere(wordsOfOne().slice(1, 3).join(' ')),
    'two words, a common and any': () => everywhere(`${word()} ${someWord()}`),
    'two of the five commonest': () => everywhere(`${COMMONEST[below(5)]} ${COMMONEST[below(5)]}`),
    'three words, as often as written': () => everywhere(`${word()} ${word()} ${word()}`),
    'a phrase of three words': () => everywhere(phrase(wordsOfOne().slice(2, 5))),
    'a phrase of two common words': () => everywhere(phrase([COMMONEST[below(5)]!, COMMONEST[below(5)]!])),
    'a word in one channel': () => within('channel', someChannel(), someWord()),
    'a common word in one channel': () => within('channel', someChannel(), word()),
    'two words in one channel': () => within('channel', someChannel(), `${word()} ${word()}`),
    'a word in one topic': () => inTopic(someWord()),
    'a word of one sender': () => within('sender', users[below(users.length)], someWord()),
    'a common word of one sender': () => within('sender', users[below(users.length)], word()),
    'a word in direct messages': () => within('is', 'dm', someWord()),
    'a common word in direct messages': () => within('is', 'dm', word()),
    'a word in one conversation': () => within('dm', [users[below(users.length)]], word()),
    'a word in public channels': () => within('channels', 'public', someWord()),
    'a word with a link': () => within('has', 'link', someWord()),
    'no message at all': () => everywhere(`${word()}${Math.floor(random() * 1e6)}`),
  }
  const isGuest = ({ email }: Account): boolean => state.userByEmail.get(email)?.role === ROLES.guest
  const guests = accounts.filter(isGuest)
  const members = accounts.filter((account) => !isGuest(account))
  const anchors = (n: number): Record<string, string> =>
    [
      { anchor: 'newest', num_before: ANSWERED, num_after: '0' },
      { anchor: 'oldest', num_before: '0', num_after: ANSWERED },
      { anchor: String(1 + below(maxId)), num_before: ANSWERED, num_after: ANSWERED },
    ][n % 3]!
  while (!store.words.isComplete) await turn()
  console.log('processor time of a search, ms                p50       p99       max      turn')
  const all: Took[] = []
  const results: Record<string, SearchTimes> = {}
  const measure = async (kind: string, narrow: () => object[], readers: readonly Account[]): Promise<void> => {
    const times: Took[] = []
    for (let n = -WARM_UP; n < count; n++) {
      const account = readers[below(readers.length)]!
      const took = await timedSearch(chat, account, narrow(), anchors(n + WARM_UP))
      if (n >= 0) times.push(took)
    }
    all.push(...times)
    results[kind] = summed(kind, times)
  }
  for (const [kind, narrow] of Object.entries(kinds)) await measure(kind, narrow, members)
  await measure('a guest: a word of some message', kinds['a word of some message']!, guests)
  await measure('a guest: two words, common and any', kinds['two words, a common and any']!, guests)
  results.all = summed('all of them', all)
  return results
}

function summed(kind: string, took: readonly Took[]): SearchTimes {
  const times = took.map(({ ms }) => ms)
  const turn = Math.max(...took.map(({ turnMs }) => turnMs))
  const figures = { p50: quantile(times, 0.5), p99: quantile(times, 0.99), max: Math.max(...times), turn }
  const columns = Object.values(figures).map((value) => value.toFixed(2).padStart(10))
  console.log(kind.padEnd(38) + columns.join(''))
  return figures
}

interface Took {
  ms: number
  turnMs: number
}

async function timedSearch(
  { api }: Chat,
  { email, key }: Account,
  narrow: readonly object[],
  range: Record<string, string>,
): Promise<Took> {
  const values = { ...range, narrow: JSON.stringify(narrow) }
  const authorization = `Basic ${Buffer.from(`${email}:${key}`).toString('base64')}`
  const beganMs = threadMs()
  const { result, longestMs } = await watchTurns(async () => {
    const answer = await api.request(`http://chat.example/api/v1/messages?${new URLSearchParams(values)}`, {
      headers: { authorization, host: 'chat.example' },
    })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(text)
    return threadMs() - beganMs
  })
  return { ms: result, turnMs: longestMs }
}
