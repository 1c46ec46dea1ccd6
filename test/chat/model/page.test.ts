// @test short slow
/** The model of the chat page beside the other client: events lead it to what a new registration answers. */

import { test } from 'node:test'
import { keyOf } from '../../../firmware/chat-page/model/conversation.ts'
import { applyEvent, createRealmView, isMuted, type RealmView } from '../../../firmware/chat-page/model/realm.ts'
import { REGISTRATION } from '../../../firmware/chat-page/model/registration.ts'
import { differences } from './client.ts'
import { type Json, run } from './run.ts'

const OPERATIONS = process.env.COFFER_SLOW === undefined ? 200 : 2000
const SEEDS = process.env.COFFER_SEED === undefined ? [46, 52, 54] : [Number(process.env.COFFER_SEED)]

/** Members that the page does not read, or asks for when it shows them: nothing tells of them, or of the old form alone. */
const UNREAD_OF_PEOPLE = ['is_owner', 'is_admin', 'is_guest', 'profile_data', 'custom_profile_field']
const UNREAD_OF_CHANNELS = [
  'rendered_description',
  'can_remove_subscribers_group_id',
  'stream_weekly_traffic',
  'is_recently_active',
  'subscriber_count',
  'subscribers',
  'partial_subscribers',
]
/** Old forms of settings of which groups have a right. */
const UNREAD_OF_ORGANIZATION = [
  'rendered_description',
  'allow_edit_history',
  'wildcard_mention_policy',
  'create_public_stream_policy',
  'create_private_stream_policy',
  'create_web_public_stream_policy',
]

const byName = (map: ReadonlyMap<unknown, unknown>): Json =>
  Object.fromEntries([...map].map(([key, value]): [string, unknown] => [String(key), value]).sort())

/** Members of the view that the page shows, in one order. */
function shown(view: RealmView): Json {
  const { generation: _____, presences: _, typists: __, lists: ___, unread, directs: ____, ...rest } = view // nothing tells that the newest message of a conversation is gone
  const copy = structuredClone({
    ...rest,
    ...{ people: byName(view.people), channels: byName(view.channels), statuses: byName(view.statuses) },
    ...{ groups: byName(view.groups), emoji: byName(view.emoji), topicPolicies: byName(view.topicPolicies) },
    ...{ mutedUsers: [...view.mutedUsers].sort(), drafts: byName(view.drafts) },
    unread: Object.fromEntries(
      unread
        .groups()
        .map(({ conversation, ids, mentions }) => [keyOf(conversation), [ids, mentions, isMuted(view, conversation)]]),
    ),
  }) as Json
  for (const name of UNREAD_OF_ORGANIZATION) delete copy.organization[name]
  for (const person of Object.values<Json>(copy.people)) {
    if (person.is_active) delete person.is_active
    for (const name of UNREAD_OF_PEOPLE) delete person[name]
  }
  for (const choice of Object.values<Json>(copy.topicPolicies)) delete choice.topic // any of its spellings
  for (const group of Object.values<Json>(copy.groups))
    for (const name of ['members', 'direct_subgroup_ids']) group[name].sort()
  for (const [id, status] of Object.entries<Json>(copy.statuses)) {
    for (const name of Object.keys(status)) if (name === 'away' || status[name] === '') delete status[name]
    if (status.emoji_name === undefined) for (const name of ['emoji_code', 'reaction_type']) delete status[name]
    if (Object.keys(status).length === 0) delete copy.statuses[id]
  }
  for (const channel of Object.values<Json>(copy.channels)) for (const name of UNREAD_OF_CHANNELS) delete channel[name]
  return copy
}

for (const seed of SEEDS)
  for (const isLimited of [false, true])
    test(`the page knows by events what a new registration answers, seed ${seed}${isLimited ? ', guests limited' : ''}`, async () => {
      await run({
        seed: seed + Number(isLimited),
        operations: OPERATIONS,
        isLimited,
        registration: REGISTRATION,
        withBot: false,
        create: (snapshot) => {
          const view = createRealmView(structuredClone(snapshot))
          return {
            apply: (event) => applyEvent(view, event),
            differences: (now) => differences(shown(view), shown(createRealmView(structuredClone(now)))),
          }
        },
      })
    })
