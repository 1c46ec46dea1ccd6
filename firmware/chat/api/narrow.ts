/** Messages by narrow. Contract section 5; rows E9, E19, E24. */

import { badRequest, ChatError } from '../base/error.ts'
import { readAnchor } from '../narrow/anchor.ts'
import { matches } from '../narrow/matches.ts'
import { narrowOf, searchOf } from '../narrow/narrow.ts'
import { type FoundRange, findRange, RANGE_MAX } from '../narrow/range.ts'
import { select } from '../narrow/scan.ts'
import { narrowShape, readTerms, type Term } from '../narrow/terms.ts'
import { viewerOf } from '../narrow/viewer.ts'
import { type Fitting, takeFitting } from '../pipeline/answer-json.ts'
import { withText } from '../pipeline/envelope.ts'
import { boolean, integers, json, naturalNumber, text } from '../pipeline/parameters.ts'
import { markMessages, toFlagUpdate } from '../realm/messages/flag-update.ts'
import { readerOf } from '../realm/messages/flags.ts'
import { type MessageOptions, messageToJson } from '../realm/messages/message-json.ts'
import type { Realm } from '../realm/model/realm.ts'
import type { User } from '../realm/model/records.ts'
import { senderVisibilityOf } from '../realm/permissions/user-access.ts'
import { visibilityOf } from '../realm/permissions/visibility.ts'
import type { MessageRow } from '../store/messages.ts'
import { type AnyDeclaration, declare, declareOpen } from './declare.ts'
import { reader } from './spectators.ts'

const narrow = () => json(narrowShape).default([])
const count = () => naturalNumber().optional()
const messageIds = () => integers().where((ids) => ids.length <= RANGE_MAX, `must have at most ${RANGE_MAX} ids`)

const rangeParameters = {
  anchor: text().optional(),
  anchor_date: text().optional(),
  include_anchor: boolean().default(true),
  num_before: count(),
  num_after: count(),
  use_first_unread_anchor: boolean().default(false),
}

interface RangeGiven {
  anchor: string | undefined
  anchor_date: string | undefined
  include_anchor: boolean
  num_before: number | undefined
  num_after: number | undefined
  use_first_unread_anchor: boolean
}

function readRange(input: RangeGiven) {
  const anchor = readAnchor(input)
  const { num_before: before, num_after: after, include_anchor: includeAnchor } = input
  if (before === undefined) throw missing('num_before')
  if (after === undefined) throw missing('num_after')
  if (before + after > RANGE_MAX) throw badRequest(`Too many messages requested (maximum ${RANGE_MAX}).`)
  if (!includeAnchor && before > 0 && after > 0)
    throw badRequest('The anchor can only be excluded at an end of the range')
  return { anchor, before, after, includeAnchor }
}

const missing = (name: string): ChatError =>
  new ChatError('REQUEST_VARIABLE_MISSING', `Missing '${name}' argument`, { var_name: name })

export const narrowDeclarations: readonly AnyDeclaration[] = [
  declareOpen({
    method: 'GET',
    path: '/messages',
    who: 'anyone',
    parameters: {
      ...rangeParameters,
      narrow: narrow(),
      message_ids: messageIds().optional(),
      client_gravatar: boolean().default(true),
      apply_markdown: boolean().default(true),
      allow_empty_topic_name: boolean().default(false),
    },
    handle: async (request) => {
      const { realm, input, sent, check, inTurn } = request
      const terms = readTerms(input.narrow)
      const viewer = () => viewerOf(realm, reader(realm, request.me))
      const form = {
        applyMarkdown: input.apply_markdown,
        clientGravatar: input.client_gravatar,
        emptyTopic: input.allow_empty_topic_name,
      }
      if (input.message_ids !== undefined) {
        refuseRange(sent)
        const wanted = input.message_ids
        const take = () => {
          const ids = select(realm.store, narrowOf(viewer(), terms), wanted)
          return takeFitting(messagesOf(realm, request.me, terms, ids, form), MESSAGES_BYTES_MAX)
        }
        const { texts, isComplete } = wanted.length > MESSAGES_AT_ONCE ? await inTurn(take) : take()
        if (!isComplete) throw tooLong()
        const nothing = { found_newest: false, found_oldest: false, found_anchor: false, history_limited: false }
        return withText('messages', listOf(texts), nothing)
      }
      const found = await findRange(viewer, terms, readRange(input))
      check() // the caller may have lost access during the search
      const take = () => nearest(found, (ids) => messagesOf(realm, request.me, terms, ids, form))
      const { older, newer } = found.ids.length > MESSAGES_AT_ONCE ? await inTurn(take) : take()
      return withText('messages', listOf([...older.texts.reverse(), ...newer.texts]), {
        anchor: found.anchor,
        found_newest: found.foundNewest && newer.isComplete,
        found_oldest: found.foundOldest && older.isComplete,
        found_anchor: found.foundAnchor,
        history_limited: false,
      })
    },
  }),
  declare({
    method: 'POST',
    path: '/messages/flags/narrow',
    who: 'account',
    parameters: { ...rangeParameters, narrow: json(narrowShape), op: text(), flag: text() },
    handle: async (request) => {
      const { realm, input } = request
      const marking = toFlagUpdate(input)
      const found = await findRange(() => viewerOf(realm, request.me), readTerms(input.narrow), readRange(input))
      const { me } = request
      const ids = readable(realm, me, found.ids)
        .map(({ id }) => id)
        .toArray()
      const { changed, ignoredChannels } = markMessages(realm, me, ids, marking)
      return {
        processed_count: ids.length,
        updated_count: changed.length,
        first_processed_id: ids[0] ?? null,
        last_processed_id: ids.at(-1) ?? null,
        found_oldest: found.foundOldest,
        found_newest: found.foundNewest,
        ignored_because_not_subscribed_channels: ignoredChannels,
      }
    },
  }),
  declare({
    method: 'GET',
    path: '/messages/matches_narrow',
    isExpensive: true,
    who: 'account',
    parameters: { msg_ids: messageIds(), narrow: json(narrowShape) },
    handle: ({ realm, me, input }) => {
      const terms = readTerms(input.narrow)
      const ids = select(realm.store, narrowOf(viewerOf(realm, me), terms), input.msg_ids)
      const search = searchOf(terms) ?? []
      const found = readable(realm, me, ids).map((row) => ({ [row.id]: matches(realm, row, search) }))
      const { texts, isComplete } = takeFitting(found, MESSAGES_BYTES_MAX)
      if (!isComplete) throw tooLong()
      return withText('messages', `{${texts.map((text) => text.slice(1, -1)).join(',')}}`, {})
    },
  }),
]

const tooLong = () => badRequest('These messages are too long for one answer: ask for fewer')

const RANGE_NAMES = Object.keys(rangeParameters)

function refuseRange(sent: ReadonlySet<string>): void {
  const parameters = RANGE_NAMES.filter((name) => sent.has(name))
  if (parameters.length > 0)
    throw badRequest(`Unsupported parameter combination: ${parameters.join(', ')}, message_ids`, {
      parameters: [...parameters, 'message_ids'],
    })
}

/** Skips messages that are deleted or no longer readable. Each row is loaded only when the caller takes it. */
function* readable(realm: Realm, me: User | null, ids: readonly number[]): Generator<MessageRow> {
  const visibility = visibilityOf(realm, me)
  for (const id of ids) {
    const row = realm.store.messages.get(id)
    if (row !== undefined && visibility.canRead(row)) yield row
  }
}

/**
 * Characters of message source in an answer: thousands of messages of usual length. A single message of maximum length takes several
 * million.
 */
const MESSAGES_BYTES_MAX = 8_000_000

/** Clients ask for this many when they open a conversation. Larger requests are queued. Contract section 1.8. */
const MESSAGES_AT_ONCE = 200

/** Fills both sides from the anchor outwards. The anchor itself counts with the older messages. */
function nearest(
  { ids, anchor }: FoundRange,
  messages: (ids: readonly number[]) => Iterable<unknown>,
): { older: Fitting; newer: Fitting } {
  const first = ids.findIndex((id) => id > anchor)
  const middle = first === -1 ? ids.length : first
  const older = ids.slice(0, middle).reverse()
  const newer = ids.slice(middle)
  const sides = older.length > 0 && newer.length > 0 ? 2 : 1
  const side = (ids: readonly number[]) => takeFitting(messages(ids), MESSAGES_BYTES_MAX / sides)
  return { older: side(older), newer: side(newer) }
}

const listOf = (texts: readonly string[]): string => `[${texts.join(',')}]`

/** Lazy: messages that do not fit into the answer are never rendered. */
function messagesOf(
  realm: Realm,
  me: User | null,
  terms: readonly Term[],
  ids: readonly number[],
  form: Omit<MessageOptions, 'senderSight'>,
): Iterable<Record<string, unknown>> {
  const search = searchOf(terms)
  const reader = me === null ? null : readerOf(realm, me)
  const senderSight = senderVisibilityOf(realm, me)
  return readable(realm, me, ids).map((row) => ({
    ...messageToJson(realm, row, { ...form, senderSight: senderSight(row.sender) }),
    flags: reader?.flags(row) ?? ['read', 'historical'],
    ...(search !== null && matches(realm, row, search)),
  }))
}
