/** What somebody has begun to write and not sent, the same on all devices. Contract section 2.5, rows E36 to E39, V10. */

import { badRequest, notFound } from '../../../base/error.ts'
import { checkedContent } from '../../messages/content.ts'
import { findPeople } from '../../messages/destination.ts'
import { publishOwn } from '../../model/own-events.ts'
import { userSetting } from '../../model/read-settings.ts'
import { nowOf, type Realm } from '../../model/realm.ts'
import type { Draft, User } from '../../model/records.ts'
import { asTopic } from '../../model/topic-names.ts'
import { findChannel } from '../../permissions/channel-find.ts'

/** As it was sent. */
export interface DraftGiven {
  type: '' | 'stream' | 'private'
  to: readonly number[]
  topic: string
  content: string
  timestamp?: number | undefined
}

/** By the time of their last edit. Throws `BAD_REQUEST` for whoever keeps his drafts on each device. */
export function draftsOf(realm: Realm, me: User) {
  expectSynchronized(me)
  return allOf(realm, me).map(form)
}

/** Empty for whoever keeps his drafts on each device. */
export const draftsAtRegister = (realm: Realm, me: User) =>
  userSetting(me, 'enable_drafts_synchronization') ? allOf(realm, me).map(form) : []

/** All of them or none; their ids, in the order in which they were given. Throws `BAD_REQUEST`. */
export function addDrafts(realm: Realm, me: User, input: readonly DraftGiven[]): number[] {
  expectSynchronized(me)
  return realm.transaction((turn) => {
    const drafts = input.map((one) => ({ id: turn.nextId('draft'), ...checked(realm, me, one) }))
    for (const draft of drafts) turn.put('draft', draft)
    if (drafts.length > 0) publishOwn(turn, me, 'drafts', 'add', { drafts: drafts.map(form) })
    return drafts.map(({ id }) => id)
  })
}

/** Throws 404, and `BAD_REQUEST`. */
export function replaceDraft(realm: Realm, me: User, id: number, input: DraftGiven): void {
  expectSynchronized(me)
  realm.transaction((turn) => {
    findDraft(realm, me, id)
    const draft = { id, ...checked(realm, me, input) }
    turn.put('draft', draft)
    publishOwn(turn, me, 'drafts', 'update', { draft: form(draft) })
  })
}

export function removeDraft(realm: Realm, me: User, id: number): void {
  expectSynchronized(me)
  realm.transaction((turn) => {
    findDraft(realm, me, id)
    turn.remove('draft', id)
    publishOwn(turn, me, 'drafts', 'remove', { draft_id: id })
  })
}

function expectSynchronized(me: User): void {
  if (!userSetting(me, 'enable_drafts_synchronization')) throw badRequest('User has disabled synchronizing drafts.')
}

const allOf = (realm: Realm, me: User): Draft[] =>
  [...realm.state.draftsOf.get(me.id).values()].sort((a, b) => a.timestamp - b.timestamp || a.id - b.id)

function findDraft(realm: Realm, me: User, id: number): Draft {
  const draft = realm.state.draftsOf.get(me.id).get(id)
  if (draft === undefined) throw notFound('Draft does not exist')
  return draft
}

function checked(realm: Realm, me: User, { type, to, topic, content, timestamp }: DraftGiven): Omit<Draft, 'id'> {
  if (timestamp !== undefined && timestamp < 0) throw badRequest('Timestamp must not be negative.')
  const draft = {
    userId: me.id,
    type,
    to: [],
    topic: '',
    content: checkedContent(content),
    timestamp: Math.floor(timestamp ?? nowOf(realm)),
  }
  if (type === 'stream') {
    const [id, ...more] = to
    if (id === undefined || more.length > 0) throw badRequest('Must specify exactly 1 channel ID for channel messages')
    return { ...draft, to: [findChannel(realm, me, id).id], topic: asTopic(topic) }
  }
  if (type === 'private' && to.length > 0) {
    findPeople(realm, me, to)
    return { ...draft, to: [...new Set(to)].sort((a, b) => a - b) }
  }
  return draft
}

const form = ({ id, type, to, topic, content, timestamp }: Draft) => ({ id, type, to, topic, content, timestamp })
