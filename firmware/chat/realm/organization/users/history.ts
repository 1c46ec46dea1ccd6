/** Gives a new account the recent messages of its channels, as if it had been subscribed. Contract section 3.4, row E71. */

import { defined } from '../../../../base/defined.ts'
import { newestSent } from '../../messages/unread.ts'
import { nowOf, type Realm } from '../../model/realm.ts'
import type { Channel, User } from '../../model/records.ts'
import { difference, runsOf } from '../../model/runs.ts'
import type { Transaction } from '../../model/transaction.ts'

// As in Zulip: enough to get an overview, and few enough for the transaction that creates the account.
const HISTORY_S = 12 * 7 * 86_400
const MESSAGES_MAX = 1000
const UNREAD_MAX = 20
/** Channels to read, those with the newest messages first: each costs one page of rows. */
const CHANNELS_MAX = 100

/**
 * Within the transaction that creates `user`, after it was subscribed to `channels`. Skips channels with protected history and messages
 * that were moved to another channel, which may be readable only to that channel's subscribers.
 */
export function giveHistory(realm: Realm, tx: Transaction, user: User, channels: readonly Channel[]): void {
  const { state, store } = realm
  const shared = channels
    .filter(({ isPrivate, historyPublicToSubscribers }) => !isPrivate || historyPublicToSubscribers)
    .map((channel) => ({ channel, newest: store.messages.newestOf(channel.recipientId) ?? 0 }))
    .sort((a, b) => b.newest - a.newest)
    .slice(0, CHANNELS_MAX)
    .map(({ channel }) => channel)
  const newest = newestSent(
    realm,
    shared.map(({ recipientId }) => recipientId),
  )
  const rows = [...newest.take(MESSAGES_MAX)]
  const ids = rows.map(({ id }) => id)
  const { count } = store.messages.sentSince(ids, nowOf(realm) - HISTORY_S)
  const recent = Map.groupBy(rows.slice(0, count), ({ birth }) => birth)
  const unread = new Set(ids.slice(0, UNREAD_MAX))
  for (const { id, recipientId } of shared) {
    const sent = recent.get(recipientId)?.toReversed()
    if (sent === undefined) continue
    const last = store.messages.maxOrdinal(recipientId)
    const moved = runsOf(sent.filter(({ recipient }) => recipient !== recipientId).map(({ ordinal }) => ordinal))
    const given = difference([[defined(sent[0]).ordinal, last]], moved)
    const left = runsOf(sent.filter((row) => unread.has(row.id)).map(({ ordinal }) => ordinal))
    const subscription = defined(state.subscriptionsOf.get(user.id).get(id))
    tx.put('subscription', { ...subscription, intervals: [...given, ...subscription.intervals] })
    store.flags.setRuns(user.id, recipientId, 'read', difference(given, left))
  }
}
