/** What bots keep for themselves. Contract row E94. */

import { badRequest } from '../../error.ts'
import type { Realm } from '../realm.ts'
import type { BotStorage, User } from '../records.ts'

const STORAGE_BYTES_MAX = 10_000_000 // of one bot, names and values in UTF-8

const entriesOf = (realm: Realm, bot: User): BotStorage[] => [...realm.state.botStorageOf.get(bot.id).values()]

/** All of it, or what these names have. Throws `BAD_REQUEST` for a name that has nothing. */
export function readStorage(realm: Realm, bot: User, names: readonly string[] | undefined): Record<string, string> {
  const entries = realm.state.botStorageOf.get(bot.id)
  const wanted = names ?? [...entries.keys()]
  return Object.fromEntries(wanted.map((name) => [name, existing(entries.get(name)).value]))
}

/** Throws `BAD_REQUEST` when it would be too much; then nothing is kept of it. */
export function writeStorage(realm: Realm, bot: User, values: Readonly<Record<string, string>>): void {
  const after = new Map(entriesOf(realm, bot).map(({ name, value }) => [name, value]))
  for (const [name, value] of Object.entries(values)) after.set(name, value)
  let bytes = 0
  for (const [name, value] of after) bytes += Buffer.byteLength(name) + Buffer.byteLength(value)
  if (bytes > STORAGE_BYTES_MAX) throw badRequest(`Requested storage exceeds ${STORAGE_BYTES_MAX} bytes`)
  realm.change((turn) => {
    for (const [name, value] of Object.entries(values)) turn.put('botStorage', { userId: bot.id, name, value })
  })
}

/** All of it, or what these names have. Throws `BAD_REQUEST` for a name that has nothing. */
export function removeStorage(realm: Realm, bot: User, names: readonly string[] | undefined): void {
  const entries = realm.state.botStorageOf.get(bot.id)
  const wanted = [...new Set(names ?? entries.keys())].map((name) => existing(entries.get(name)))
  realm.change((turn) => {
    for (const { name } of wanted) turn.remove('botStorage', `${bot.id}:${name}`)
  })
}

function existing(entry: BotStorage | undefined): BotStorage {
  if (entry === undefined) throw badRequest('Key does not exist.')
  return entry
}
