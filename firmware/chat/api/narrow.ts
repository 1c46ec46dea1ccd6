/** Messages by narrows. Contract section 5; rows E9, E19, E24. */

import { badRequest, ChatError } from '../error.ts'
import { boolean, integers, json, naturalNumber, text } from '../http/parameters.ts'
import { readAnchor } from '../narrow/anchor.ts'
import { matches } from '../narrow/matches.ts'
import { narrowOf, searchOf } from '../narrow/narrow.ts'
import { findRange, RANGE_MAX } from '../narrow/range.ts'
import { narrowShape, readTerms, type Term } from '../narrow/terms.ts'
import { viewerOf } from '../narrow/viewer.ts'
import { select } from '../narrow/walk.ts'
import { readerOf } from '../realm/messages/flags.ts'
import { type MessageOptions, messageForm } from '../realm/messages/form.ts'
import { asMarking, markMessages } from '../realm/messages/mark.ts'
import { sightOf } from '../realm/messages/sight.ts'
import type { Realm } from '../realm/realm.ts'
import type { User } from '../realm/records.ts'
import { senderSightOf } from '../realm/users/access.ts'
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

function readRange(given: RangeGiven) {
  const anchor = readAnchor(given)
  const { num_before: before, num_after: after, include_anchor: includeAnchor } = given
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
    row: 'E9',
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
      const { realm, given, sent, check } = request
      const terms = readTerms(given.narrow)
      const viewer = () => viewerOf(realm, reader(realm, request.me))
      const form = {
        applyMarkdown: given.apply_markdown,
        clientGravatar: given.client_gravatar,
        emptyTopic: given.allow_empty_topic_name,
      }
      if (given.message_ids !== undefined) {
        refuseRange(sent)
        const ids = select(realm.store, narrowOf(viewer(), terms), given.message_ids)
        const nothing = { found_newest: false, found_oldest: false, found_anchor: false, history_limited: false }
        return { messages: messagesOf(realm, request.me, terms, ids, form), ...nothing }
      }
      const found = await findRange(viewer, terms, readRange(given))
      check() // what is told is told to whoever may still be told
      return {
        messages: messagesOf(realm, request.me, terms, found.ids, form),
        anchor: found.anchor,
        found_newest: found.foundNewest,
        found_oldest: found.foundOldest,
        found_anchor: found.foundAnchor,
        history_limited: false,
      }
    },
  }),
  declare({
    row: 'E19',
    method: 'POST',
    path: '/messages/flags/narrow',
    who: 'account',
    parameters: { ...rangeParameters, narrow: json(narrowShape), op: text(), flag: text() },
    handle: async (request) => {
      const { realm, given } = request
      const marking = asMarking(given)
      const found = await findRange(() => viewerOf(realm, request.me), readTerms(given.narrow), readRange(given))
      const { me } = request
      const ids = readable(realm, me, found.ids).map(({ id }) => id)
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
    row: 'E24',
    method: 'GET',
    path: '/messages/matches_narrow',
    who: 'account',
    parameters: { msg_ids: messageIds(), narrow: json(narrowShape) },
    handle: ({ realm, me, given }) => {
      const terms = readTerms(given.narrow)
      const ids = select(realm.store, narrowOf(viewerOf(realm, me), terms), given.msg_ids)
      const search = searchOf(terms) ?? []
      const entries = ids.map((id) => [id, matches(realm, realm.store.messages.get(id)!, search)])
      return { messages: Object.fromEntries(entries) }
    },
  }),
]

const RANGE_NAMES = Object.keys(rangeParameters)

function refuseRange(sent: ReadonlySet<string>): void {
  const parameters = RANGE_NAMES.filter((name) => sent.has(name))
  if (parameters.length > 0)
    throw badRequest(`Unsupported parameter combination: ${parameters.join(', ')}, message_ids`, {
      parameters: [...parameters, 'message_ids'],
    })
}

/** Those that are still there and his to read. */
function readable(realm: Realm, me: User | null, ids: readonly number[]): MessageRow[] {
  const sight = sightOf(realm, me)
  return ids.flatMap((id) => {
    const row = realm.store.messages.get(id)
    return row !== undefined && sight.canRead(row) ? [row] : []
  })
}

function messagesOf(
  realm: Realm,
  me: User | null,
  terms: readonly Term[],
  ids: readonly number[],
  form: Omit<MessageOptions, 'senderSight'>,
): Record<string, unknown>[] {
  const search = searchOf(terms)
  const reader = me === null ? null : readerOf(realm, me)
  const senderSight = senderSightOf(realm, me)
  return readable(realm, me, ids).map((row) => ({
    ...messageForm(realm, row, { ...form, senderSight: senderSight(row.sender) }),
    flags: reader?.flags(row) ?? ['read', 'historical'],
    ...(search !== null && matches(realm, row, search)),
  }))
}
