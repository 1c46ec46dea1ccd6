/**
 * Moves messages to another topic or channel after move-check.ts has permitted it, in one transaction, even tens of thousands. Contract
 * sections 3.2.2, 7.3; V51.
 */

import { defined } from '../../../base/defined.ts'
import type { PlacedRow } from '../../store/messages.ts'
import { type EditRecord, metadataOf } from '../model/message-metadata.ts'
import { fold } from '../model/names.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import type { Channel, User } from '../model/records.ts'
import { addRun } from '../model/runs.ts'
import { topicName } from '../model/topic-names.ts'
import type { Transaction } from '../model/transaction.ts'
import { moveUserTopics } from '../objects/user-topics.ts'
import { type ReceivedMessages, receivedMessagesOf } from '../permissions/received.ts'
import { type Extent, visibilityOf } from '../permissions/visibility.ts'
import { clearFlags, markMovedRead } from './access-lost.ts'
import { publishDeletion, tidyTopic } from './delete.ts'
import { readerOf } from './flags.ts'
import { ensureTopic, findTopic } from './location.ts'
import { isOnlyResolved, type Move } from './move-check.ts'
import { noticeMove, noticeResolve } from './notices.ts'
import { topicLinks } from './rendering.ts'
import { setFirstMessage } from './send.ts'
import { metadataWithMoves, readMove, type TopicMove, withMoves, writeExtra } from './topic-history.ts'

/** Within a transaction. `contentEvent`: members of the event for an edit of the target in the same request. */
export function moveMessages(realm: Realm, tx: Transaction, me: User, move: Move, contentEvent: object | null): void {
  const { from, to, rows, target } = move
  const isBetween = to.channel.id !== from.channel.id
  const isElsewhere = isBetween || fold(from.topic) !== fold(to.topic)
  const topicMove = asTopicMove(realm, me, move)
  const arrival = isBetween ? arrivalIn(realm, to.channel) : null
  const known = findTopic(realm, to.channel, to.topic)
  if (move.isTopic && (known === undefined || known.id === target.topic)) moveTopic(realm, move, topicMove, arrival)
  else moveSome(realm, move, topicMove, arrival)
  if (contentEvent !== null) joinEdits(realm, target.id)
  if (isBetween) tidyChannels(realm, tx, [from.channel, to.channel])
  if (move.isWhole && isElsewhere) moveUserTopics(realm, tx, from, to)
  publishMove(realm, tx, me, move, contentEvent, arrival)
  if (isOnlyResolved(move)) noticeResolve(realm, tx, me, to)
  else if (isElsewhere) noticeMove(realm, tx, me, { ...move, count: rows.length })
}

/**
 * In a private channel the messages count as sent at the time of the move, which decides which subscribers may read them. Returns 0 for
 * other channels.
 */
const arrivalIn = ({ store }: Realm, { isPrivate, recipientId }: Channel): number =>
  isPrivate ? store.messages.nextOrdinal(recipientId) : 0

function asTopicMove(realm: Realm, me: User, move: Move): TopicMove {
  const { from, to } = move
  return {
    edit: {
      timestamp: nowOf(realm),
      user_id: me.id,
      ...(to.topic !== from.topic && { prev_topic: from.topic, topic: to.topic }),
      ...(to.channel.id !== from.channel.id && { prev_stream: from.channel.id, stream: to.channel.id }),
    },
    isResolving: isOnlyResolved(move),
  }
}

/** Moves the topic's row. Message rows change only if the channel changes. */
function moveTopic({ store }: Realm, { target, to }: Move, topicMove: TopicMove, arrival: number | null): void {
  store.topics.rename(target.topic, to.channel.recipientId, to.topic, fold(to.topic))
  if (arrival !== null) store.messages.moveTopic(target.topic, to.channel.recipientId, arrival)
  store.topics.addMove(target.topic, store.messages.maxId(), JSON.stringify(topicMove))
}

/** Moves single messages, or a part of a topic. The history of the old topic is copied into them. */
function moveSome(realm: Realm, move: Move, topicMove: TopicMove, arrival: number | null): void {
  const { target, rows, from, to } = move
  const { store } = realm
  const topic = ensureTopic(realm, to.channel, to.topic)
  const { recipientId: recipient } = to.channel
  const before = store.topics.movesOf(target.topic, 0, 0)
  const ids = rows.map(({ id }) => id)
  const extras = new Map(store.messages.extrasOf(ids).map(({ id, extra }) => [id, extra]))
  const extraText = (id: number): string => extras.get(id) ?? '{}'
  // Most messages have equal metadata: messages with the same result are written together.
  const alike = Map.groupBy(
    ids,
    (id) => `${before.findIndex(({ through }) => through < id)} ${extraText(id)}`, // newest first: the index tells which moves apply
  )
  for (const together of alike.values()) {
    const [first] = together as [number]
    const own = metadataOf({ extra: extraText(first) })
    const moves = before.filter(({ number, through }) => number > (own.since ?? 0) && through >= first).map(readMove)
    const extra = writeExtra(realm, topic, withMoves(own, [topicMove, ...moves]))
    store.messages.place(together, { recipient, topic, extra, arrival })
  }
  if (topic === target.topic && to.channel.id === from.channel.id)
    store.topics.rename(topic, recipient, to.topic, fold(to.topic)) // names that differ in case only share a row
  tidyTopic(realm, target.topic)
}

/** Joins the edit and the move of one request into one entry of the history. */
function joinEdits(realm: Realm, id: number): void {
  const row = defined(realm.store.messages.get(id))
  const extra = metadataWithMoves(realm, row)
  const [moved, edited, ...older] = extra.edits as [EditRecord, EditRecord, ...EditRecord[]]
  const edits = [{ ...edited, ...moved }, ...older]
  realm.store.messages.update({ ...row, extra: writeExtra(realm, row.topic, { ...extra, edits }) })
}

/** The first message of either channel may have changed. */
function tidyChannels(realm: Realm, tx: Transaction, channels: readonly Channel[]): void {
  const { state, store } = realm
  for (const { id, recipientId } of channels) {
    const first = store.messages.oldestOf(recipientId) ?? null
    const channel = state.channel.require(id)
    if (channel.firstMessageId !== first) setFirstMessage(realm, tx, channel, first)
  }
}

function publishMove(
  realm: Realm,
  tx: Transaction,
  me: User,
  move: Move,
  contentEvent: object | null,
  arrival: number | null,
): void {
  const { from, to, rows } = move
  const reach = receivedMessagesOf(realm, rows)
  const witnesses = witnessesOf(realm, move, reach)
  const seeing = witnesses.filter(({ sees }) => sees.length > 0)
  for (const [seen, alike] of Map.groupBy(seeing, ({ sees }) => sees)) {
    const users = alike.map(({ user }) => user)
    publishUpdate(realm, tx, me, { ...move, rows: seen }, contentEvent, users)
  }
  if (arrival === null) return
  for (const { user, keeps } of witnesses) if (keeps) keep(realm, user, to.channel, arrival)
  for (const [lost, losing] of Map.groupBy(witnesses, ({ loses }) => loses)) {
    if (lost.length === 0) continue
    const userIds = losing.map(({ user }) => user.id)
    const lostIds = lost.map(({ id }) => id)
    publishDeletion(realm, tx, from, lostIds, userIds)
    for (const [reached, ids] of Map.groupBy(userIds, reach.by)) clearFlags(realm, ids, inBoth(lost, reached))
  }
  const subscribers = realm.state.subscribersOf.get(to.channel.id)
  const guests = seeing.map(({ user }) => user).filter(({ id }) => !subscribers.has(id))
  for (const [reached, users] of Map.groupBy(guests, ({ id }) => reach.by(id))) markMovedRead(realm, tx, users, reached)
}

/** Publishes the move to users who see `rows`. Leaves out the target's content if the target is not among them. */
function publishUpdate(
  realm: Realm,
  tx: Transaction,
  me: User,
  { target, from, to, mode, rows }: Move,
  contentEvent: object | null,
  users: readonly User[],
): void {
  const seesTarget = rows.some(({ id }) => id === target.id)
  const shown = defined(realm.store.messages.get(seesTarget ? target.id : defined(rows[0]).id))
  const readers = new Map(users.map((user) => [user.id, readerOf(realm, user)]))
  const links = topicLinks(realm, to.topic)
  const ids = rows.map(({ id }) => id)
  tx.publish({
    type: 'update_message',
    to: readers.keys(),
    make: ({ can }) => ({
      user_id: me.id,
      edit_timestamp: nowOf(realm),
      message_id: shown.id,
      message_ids: ids,
      rendering_only: false,
      stream_name: from.channel.name,
      stream_id: from.channel.id,
      ...(to.channel.id !== from.channel.id && { new_stream_id: to.channel.id }),
      propagate_mode: mode,
      orig_subject: topicName(from.topic, can.empty_topic_name),
      ...(to.topic !== from.topic && {
        subject: topicName(to.topic, can.empty_topic_name),
        topic_links: links,
      }),
      ...(seesTarget && contentEvent),
    }),
    tail: ({ userId }) => ({ flags: defined(readers.get(userId)).flagsInUpdate(shown) }),
  })
}

/** A user who had at least one of the messages before the move, or has one now. */
interface Witness {
  user: User
  /** Messages that the user may read now; empty if the user gets no event. Users who see the same messages share a list. */
  sees: readonly PlacedRow[]
  /** Messages that the user had and may no longer read. Users who lose the same messages share a list. */
  loses: readonly PlacedRow[]
  /** True if the user may still read received messages in the private target channel without being subscribed to it. */
  keeps: boolean
}

function witnessesOf(realm: Realm, { from, to, rows }: Move, reach: ReceivedMessages): Witness[] {
  const had = realm.state.subscribersOf.get(from.channel.id)
  const has = realm.state.subscribersOf.get(to.channel.id)
  const isBetween = to.channel.id !== from.channel.id
  const subscribers = [...had.keys(), ...has.keys()].map((id) => realm.state.user.require(id))
  const without = differences()
  return [...new Set([...subscribers.filter(({ isActive }) => isActive), ...reach.users])].map((user) => {
    const visibility = visibilityOf(realm, user)
    const reached = reach.by(user.id)
    const extents = [visibility.extent(from.channel.recipientId), visibility.extent(to.channel.recipientId)] as const
    const before = readable(extents[0], had.has(user.id) ? rows : reached, () => reach.atLocation(user.id))
    const isHere = has.has(user.id)
    const keepsReached = () => reached.length > 0 && isWithin(reached, before)
    const after = readable(extents[1], rows, () => {
      if (!isBetween) return before
      return isHere ? rows : keepsReached() ? reached : NONE
    })
    const isTold = isHere || before.length > 0 || reached.length > 0
    return {
      user,
      sees: isTold ? after : NONE,
      loses: after === rows || after === before ? NONE : without(before, after),
      keeps: isBetween && to.channel.isPrivate && !isHere && after.length > 0 && keepsReached(),
    }
  })
}

const NONE: readonly PlacedRow[] = []

const readable = (
  extent: Extent,
  all: readonly PlacedRow[],
  reached: () => readonly PlacedRow[],
): readonly PlacedRow[] => (extent === 'all' ? all : extent === 'received' ? reached() : NONE)

function inBoth(some: readonly PlacedRow[], others: readonly PlacedRow[]): readonly PlacedRow[] {
  const known = new Set(others)
  return some === others ? some : some.filter((row) => known.has(row))
}

function isWithin(some: readonly PlacedRow[], all: readonly PlacedRow[]): boolean {
  if (some === all || some.length === 0) return true
  const known = new Set(all)
  return some.every((row) => known.has(row))
}

/** Returns `all` without `some`. Equal arguments give the same list. */
function differences(): (all: readonly PlacedRow[], some: readonly PlacedRow[]) => readonly PlacedRow[] {
  const known = new Map<readonly PlacedRow[], Map<readonly PlacedRow[], readonly PlacedRow[]>>()
  return (all, some) => {
    if (some.length === 0) return all
    const same = known.get(all) ?? new Map<readonly PlacedRow[], readonly PlacedRow[]>()
    known.set(all, same)
    let rest = same.get(some)
    if (rest === undefined) {
      const ids = new Set(some)
      rest = all.filter((row) => !ids.has(row))
      same.set(some, rest)
    }
    return rest
  }
}

/** Preserves the user's access to received messages if the channel has protected history. */
function keep({ store }: Realm, { id }: User, { recipientId }: Channel, arrival: number): void {
  store.flags.setRuns(id, recipientId, 'kept', addRun(store.flags.runs(id, recipientId, 'kept'), arrival, arrival))
}
