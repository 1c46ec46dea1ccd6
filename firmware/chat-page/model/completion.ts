/** Finds the begun word at the cursor and its completions. Uses no DOM. */

import type { RealmView } from './realm.ts'
import type { Participant } from './types.ts'

export interface Begun {
  readonly kind: 'person' | 'channel' | 'topic' | 'emoji' | 'command'
  /** Start of the word in the text, including its sign. */
  readonly start: number
  readonly text: string
  readonly channelName: string
}

export interface Suggestion {
  readonly key: string
  readonly label: string
  readonly about: string
  readonly insert: string
}

export const SUGGESTIONS_MAX = 8

/** Null if no word is begun. The sign must be at the beginning of a word. */
export function readBegun(text: string, cursor: number): Begun | null {
  const before = text.slice(Math.max(0, text.lastIndexOf('\n', cursor - 1) + 1), cursor)
  const at = cursor - before.length
  const begun = (kind: Begun['kind'], word: string, sign: number, channelName = ''): Begun => ({
    ...{ kind, text: word, start: at + before.length - word.length - sign, channelName },
  })
  const command = /^\/([a-z]*)$/.exec(before)
  if (command !== null && at === 0) return begun('command', command[1] ?? '', 1)
  const topic = /(?:^|[\s(])#(?:\*\*)?([^\s#*>][^#*>\n]{0,59})>([^*>\n]{0,60})$/.exec(before)
  if (topic !== null) {
    const [, channelName = '', word = ''] = topic
    const length = topic[0].replace(/^[\s(]/, '').length
    return { kind: 'topic', text: word, start: cursor - length, channelName }
  }
  const sign = /(?:^|[\s(>])([@#:])(_?)((?:\*\*)?)([^\s@#:*][^@#:*\n]{0,39})?$/.exec(before)
  if (sign === null) return null
  const [, mark, silent = '', stars = '', word = ''] = sign
  if (mark === '@') return begun('person', word, 1 + silent.length + stars.length)
  if (silent !== '' || (mark === ':' && (stars !== '' || !/^[\w+-]{2,}$/.test(word)))) return null
  return begun(mark === '#' ? 'channel' : 'emoji', word, 1 + stars.length)
}

const COMMANDS = ['me', 'poll', 'todo'] as const

export const suggestCommands = (word: string, about: Readonly<Record<string, string>>): Suggestion[] =>
  COMMANDS.filter((name) => name.startsWith(word)).map((name) => ({
    ...{ key: name, label: `/${name}`, about: about[name] ?? '', insert: `/${name} ` },
  }))

/** Lists writers of the conversation first, then others by name. `isSilent` selects mentions without notification. */
export function suggestPeople(
  realm: RealmView,
  word: string,
  { writers, isSilent, aboutWildcard }: { writers: readonly number[]; isSilent: boolean; aboutWildcard: string },
): Suggestion[] {
  const sign = isSilent ? '@_' : '@'
  const recent = new Map(writers.map((id, at) => [id, at]))
  const people = [...realm.people.values()]
    .filter((one) => one.is_active !== false && matches(one.full_name, word))
    .sort((a, b) => rankOf(a, recent) - rankOf(b, recent) || a.full_name.localeCompare(b.full_name))
  const isDouble = (name: string) => people.filter(({ full_name: one }) => one === name).length > 1
  const ofPeople = people.map(({ user_id: id, full_name: name, is_bot: isBot }) => ({
    ...{ key: `user ${id}`, label: name, about: isBot ? 'bot' : '' },
    insert: `${sign}**${isDouble(name) ? `${name}|${id}` : name}** `,
  }))
  const groups = [...realm.groups.values()]
    .filter((one) => !one.is_system_group && !one.deactivated && matches(one.name, word))
    .map(({ id, name, description }) => ({
      ...{ key: `group ${id}`, label: name, about: description, insert: `${sign}*${name}* ` },
    }))
  const wildcards =
    isSilent || word === '' ? [] : ['all', 'topic'].filter((name) => name.startsWith(word.toLowerCase()))
  const ofWildcards = wildcards.map((name) => ({
    ...{ key: `all ${name}`, label: name, about: name === 'all' ? aboutWildcard : '', insert: `@**${name}** ` },
  }))
  return [...ofPeople, ...groups, ...ofWildcards].slice(0, SUGGESTIONS_MAX)
}

const rankOf = ({ user_id: id, is_bot: isBot }: Participant, recent: ReadonlyMap<number, number>): number =>
  recent.get(id) ?? (isBot ? Number.MAX_SAFE_INTEGER : recent.size)

/** Inserts a `>`, which continues with the topics of the channel. */
export const suggestChannels = (realm: RealmView, word: string): Suggestion[] =>
  [...realm.channels.values()]
    .filter(({ name }) => matches(name, word))
    .sort((a, b) => a.name.localeCompare(b.name))
    .slice(0, SUGGESTIONS_MAX)
    .map(({ stream_id: id, name, description }) => ({
      ...{ key: `channel ${id}`, label: `#${name}`, about: description, insert: `#**${name}** ` },
    }))

export const suggestTopics = (channelName: string, topics: readonly string[], word: string): Suggestion[] =>
  topics
    .filter((topic) => topic !== '' && topic.toLowerCase().includes(word.toLowerCase()))
    .slice(0, SUGGESTIONS_MAX)
    .map((topic) => ({
      ...{ key: topic, label: topic, about: `#${channelName}`, insert: `#**${channelName}>${topic}** ` },
    }))

/** True if the name or one of its words begins with the text. */
export function matches(name: string, begun: string): boolean {
  const wanted = begun.toLowerCase()
  const all = name.toLowerCase()
  return all.startsWith(wanted) || all.split(/[\s._-]+/).some((part) => part.startsWith(wanted))
}

/** Senders in the list, the newest first: they rank first among suggestions. */
export const writersOf = (lists: RealmView['lists'], key: string): number[] => {
  const list = [...lists].find(({ source }) => source.key === key)
  return [...new Set([...(list?.messages ?? [])].reverse().map(({ sender_id: id }) => id))]
}
