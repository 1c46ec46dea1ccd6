/** Key-value storage of bots. Contract row E94. */

import { badRequest } from '../../base/error.ts'
import type { Realm } from '../model/realm.ts'
import type { BotStorage, User } from '../model/records.ts'

// Sum of names and values in UTF-8. All storage is in memory.
const BOT_BYTES_MAX = 10_000_000
const OWNER_BYTES_MAX = 20_000_000 // all bots of one account, including deactivated ones

const entriesOf = (realm: Realm, botId: number): BotStorage[] => [...realm.state.botStorageOf.get(botId).values()]

const sizeOf = (entries: Iterable<Pick<BotStorage, 'name' | 'value'>>): number =>
  [...entries].reduce((bytes, { name, value }) => bytes + Buffer.byteLength(name) + Buffer.byteLength(value), 0)

/** Returns all entries if `names` is undefined. Throws `BAD_REQUEST` if a name does not exist. */
export function readStorage(realm: Realm, bot: User, names: readonly string[] | undefined): Record<string, string> {
  const entries = realm.state.botStorageOf.get(bot.id)
  const wanted = names ?? [...entries.keys()]
  return Object.fromEntries(wanted.map((name) => [name, existing(entries.get(name)).value]))
}

/** Throws `BAD_REQUEST` and stores nothing if a limit is exceeded. */
export function writeStorage(realm: Realm, bot: User, values: Readonly<Record<string, string>>): void {
  const before = entriesOf(realm, bot.id)
  const after = new Map(before.map((entry) => [entry.name, entry]))
  for (const [name, value] of Object.entries(values)) after.set(name, { userId: bot.id, name, value })
  const bytes = sizeOf(after.values())
  if (bytes > BOT_BYTES_MAX) throw badRequest(`Requested storage exceeds ${BOT_BYTES_MAX} bytes`)
  if (bytes > sizeOf(before) && bytes + othersBytes(realm, bot) > OWNER_BYTES_MAX)
    throw badRequest(`The storage of all bots of one account would exceed ${OWNER_BYTES_MAX} bytes`)
  realm.transaction((turn) => {
    for (const [name, value] of Object.entries(values)) turn.put('botStorage', { userId: bot.id, name, value })
  })
}

function othersBytes(realm: Realm, { id, bot }: User): number {
  const ids = bot?.ownerId == null ? [] : [...realm.state.botsOf.get(bot.ownerId).keys()]
  return sizeOf(ids.filter((other) => other !== id).flatMap((other) => entriesOf(realm, other)))
}

/** Removes all entries if `names` is undefined. Throws `BAD_REQUEST` if a name does not exist. */
export function removeStorage(realm: Realm, bot: User, names: readonly string[] | undefined): void {
  const entries = realm.state.botStorageOf.get(bot.id)
  const wanted = [...new Set(names ?? entries.keys())].map((name) => existing(entries.get(name)))
  realm.transaction((turn) => {
    for (const { name } of wanted) turn.remove('botStorage', `${bot.id}:${name}`)
  })
}

function existing(entry: BotStorage | undefined): BotStorage {
  if (entry === undefined) throw badRequest('Key does not exist.')
  return entry
}
