/**
 * API keys: 32 letters and digits. Each client that requests one gets a new key, of which only the hash is stored. A bot's key is also
 * stored sealed, because its owner may view it again. Contract sections 1.2 and 11.15.
 */

import { createHash } from 'node:crypto'
import { defined } from '../../../base/defined.ts'
import type { Random } from '../../../crypto/random.ts'
import { ChatError, notFound } from '../../base/error.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import type { ApiKey, User } from '../model/records.ts'
import { openText, sealText } from '../model/secrets.ts'
import type { Transaction } from '../model/transaction.ts'
import { addressKey } from '../model/user-names.ts'
import { ownHosts } from '../permissions/user-addresses.ts'
import { removeDevicesOf } from './client-devices.ts'

const ALPHABET = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
const KEY_LENGTH = 32 // 190 bits
const KEYS_OF_USER_MAX = 100
const DAY_S = 86_400

/** A session expires this many days after the day of its last use. */
export const SESSION_DAYS = 30

export const keysOf = (realm: Realm, user: User): ApiKey[] => [...realm.state.keysOf.get(user.id).values()]

/** Creates a key. If the account has too many, the key unused for the longest time is revoked. */
export function makeKey(
  realm: Realm,
  tx: Transaction,
  user: User,
  client: string,
  more: Pick<ApiKey, 'givenTo' | 'session'> = {},
): string {
  const own = keysOf(realm, user)
  if (own.length >= KEYS_OF_USER_MAX)
    revoke(
      realm,
      tx,
      own.reduce((a, b) => (isUnusedLonger(b, a) ? b : a)),
    )
  const key = randomKey(realm.random)
  const now = nowOf(realm)
  tx.put('apiKey', {
    hash: hashOf(key),
    id: tx.nextId('apiKey'),
    userId: user.id,
    client,
    made: now,
    usedDay: Math.floor(now / DAY_S),
    sealed: user.bot === null ? null : sealText(realm, key),
    ...more,
  })
  return key
}

export function revokeKeys(realm: Realm, tx: Transaction, user: User): void {
  for (const apiKey of keysOf(realm, user)) revoke(realm, tx, apiKey)
}

/** Revokes the account's sessions of the page but the one with that id. API keys go on. */
export function revokeOtherSessions(realm: Realm, tx: Transaction, user: User, keptId: number | undefined): void {
  for (const apiKey of keysOf(realm, user))
    if (apiKey.session !== undefined && apiKey.id !== keptId) revoke(realm, tx, apiKey)
}

/** Administrators who received this key of another account's bot. */
export const receiversOf = ({ givenTo }: ApiKey): readonly number[] =>
  typeof givenTo === 'number' ? [givenTo] : (givenTo ?? [])

/** Replaces all keys by a new one. The new key of a bot has the same receivers. */
export function regenerateKey(realm: Realm, tx: Transaction, user: User, client: string): string {
  const givenTo = [...new Set(keysOf(realm, user).flatMap(receiversOf))]
  revokeKeys(realm, tx, user)
  return makeKey(realm, tx, user, client, givenTo.length === 0 ? {} : { givenTo })
}

interface KeyOnList {
  readonly id: number
  readonly client: string
  /** Device of a session of the chat page. Null for an API key. */
  readonly device: string | null
  /** True for the key that authenticated this request. */
  readonly is_current: boolean
  /** In seconds since the epoch. */
  readonly date_created: number
  /** Start of the day of the last use (UTC), in seconds since the epoch. */
  readonly last_used: number
}

/** Keys and sessions of the account, oldest first. `currentId` is the one that authenticated the request. */
export const keysOnList = (realm: Realm, user: User, currentId: number): KeyOnList[] =>
  keysOf(realm, user)
    .filter((apiKey) => !isOver(realm, apiKey))
    .map(({ id, client, made, usedDay, session }) => ({
      id,
      client,
      device: session?.device ?? null,
      is_current: id === currentId,
      date_created: made,
      last_used: usedDay * DAY_S,
    }))
    .sort((a, b) => a.id - b.id)

/** Throws the same 404 for another account's id and for an unknown id. */
export function expectKey(realm: Realm, user: User, id: number): ApiKey {
  const apiKey = keysOf(realm, user).find((own) => own.id === id)
  if (apiKey === undefined) throw notFound('API key does not exist')
  return apiKey
}

/** Throws 404 as `expectKey`. */
export const revokeKey = (realm: Realm, user: User, id: number): void =>
  realm.transaction((tx) => revoke(realm, tx, expectKey(realm, user, id)))

/** Ends the account's polls, so that each client has to authenticate again, and removes the devices of the key. */
export function revoke(realm: Realm, tx: Transaction, { hash, id, userId }: ApiKey): void {
  tx.remove('apiKey', hash)
  removeDevicesOf(realm, tx, userId, id)
  tx.onCommit(() => realm.events.endPollsOf(userId))
}

/** Returns the newest key of a bot, or `""` if it has none. */
export function shownKey(realm: Realm, bot: User): string {
  const keys = keysOf(realm, bot).filter(({ sealed }) => sealed !== null)
  const newest = keys.reduce<ApiKey | undefined>((a, b) => (a === undefined || b.id > a.id ? b : a), undefined)
  return (newest && openText(realm, defined(newest.sealed))) ?? ''
}

/**
 * Authenticates an address and API key. `host` is the host of the request, from which notifying programs construct the address of a bot.
 * Throws `INVALID_API_KEY` (contract section 1.2).
 */
export function findByKey(
  realm: Realm,
  email: string,
  key: Uint8Array,
  host: string | undefined,
): { user: User; apiKey: ApiKey } {
  const found = findKey(realm, key)
  const apiKey = found?.session === undefined ? found : undefined
  const user = apiKey && realm.state.user.get(apiKey.userId)
  // The real address stays valid after its owner hides it: clients were set up with it.
  if (apiKey === undefined || user === undefined || !isAddressOf(realm, user, email, host))
    throw new ChatError('INVALID_API_KEY', 'Invalid API key')
  return { user, apiKey }
}

function isAddressOf(realm: Realm, user: User, input: string, host: string | undefined): boolean {
  const email = addressKey(input)
  if ([user.email, user.deliveryEmail].some((own) => addressKey(own) === email)) return true
  if (user.bot === null) return false
  const local = user.email.slice(0, user.email.lastIndexOf('@'))
  return ownHosts(realm, host).some((own) => addressKey(`${local}@${own}`) === email)
}

/** Finds API keys and sessions. */
export const findKey = (realm: Realm, secret: Uint8Array): ApiKey | undefined =>
  isKey(secret) ? realm.state.apiKey.get(hashOf(secret)) : undefined

/** True for an expired session. API keys do not expire. */
export const isOver = (realm: Realm, { session, usedDay }: ApiKey): boolean =>
  session !== undefined && today(realm) - usedDay > SESSION_DAYS

/** Stores the day of a key's last use. Returns true at the first use of a day. */
export function noteUse(realm: Realm, { hash }: ApiKey): boolean {
  const day = today(realm)
  const apiKey = realm.state.apiKey.get(hash)
  const isFirst = apiKey !== undefined && apiKey.usedDay < day
  if (isFirst) realm.transaction((tx) => tx.put('apiKey', { ...apiKey, usedDay: day }))
  return isFirst
}

const today = (realm: Realm): number => Math.floor(nowOf(realm) / DAY_S)

const CODES: ReadonlySet<number> = new Set(Buffer.from(ALPHABET))

const isKey = (secret: Uint8Array): boolean => secret.length === KEY_LENGTH && secret.every((code) => CODES.has(code))

export const hashOf = (key: string | Uint8Array): string => createHash('sha256').update(key).digest('base64url')

const isUnusedLonger = (a: ApiKey, b: ApiKey): boolean =>
  a.usedDay < b.usedDay || (a.usedDay === b.usedDay && a.id < b.id)

/** Uniform: discards bytes beyond the last complete multiple of the alphabet's length. */
export function randomKey(random: Random): string {
  const limit = 256 - (256 % ALPHABET.length)
  let key = ''
  while (key.length < KEY_LENGTH)
    for (const byte of random(KEY_LENGTH))
      if (byte < limit && key.length < KEY_LENGTH) key += ALPHABET[byte % ALPHABET.length]
  return key
}
