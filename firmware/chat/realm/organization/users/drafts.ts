/** Drafts of messages, synchronized between the user's devices. Contract section 2.5, rows E36 to E39, V10. */

import { badRequest, notFound } from '../../../base/error.ts'
import { checkedContent } from '../../messages/content.ts'
import { findPeople } from '../../messages/destination.ts'
import { publishOwn } from '../../model/own-events.ts'
import { userSetting } from '../../model/read-settings.ts'
import { nowOf, type Realm } from '../../model/realm.ts'
import type { Draft, User } from '../../model/records.ts'
import { asTopic } from '../../model/topic-names.ts'
import { findChannel } from '../../permissions/channel-find.ts'

export interface DraftGiven {
  type: '' | 'stream' | 'private'
  to: readonly number[]
  topic: string
  content: string
  timestamp?: number | undefined
}

/** By time of the last edit. Throws `BAD_REQUEST` if the user has disabled synchronization. */
export function draftsOf(realm: Realm, me: User) {
  expectSynchronized(me)
  return allOf(realm, me).map(form)
}

export const draftsAtRegister = (realm: Realm, me: User) =>
  userSetting(me, 'enable_drafts_synchronization') ? allOf(realm, me).map(form) : []

/** Adds all drafts or none. Returns their ids in order of the input. Throws `BAD_REQUEST`. */
export function addDrafts(realm: Realm, me: User, input: readonly DraftGiven[]): number[] {
  expectSynchronized(me)
  return realm.transaction((tx) => {
    const drafts = input.map((one) => ({ id: tx.nextId('draft'), ...checked(realm, me, one) }))
    for (const draft of drafts) tx.put('draft', draft)
    if (drafts.length > 0) publishOwn(tx, me, 'drafts', 'add', { drafts: drafts.map(form) })
    return drafts.map(({ id }) => id)
  })
}

/** Throws 404 for an unknown draft, and `BAD_REQUEST`. */
export function replaceDraft(realm: Realm, me: User, id: number, input: DraftGiven): void {
  expectSynchronized(me)
  realm.transaction((tx) => {
    findDraft(realm, me, id)
    const draft = { id, ...checked(realm, me, input) }
    tx.put('draft', draft)
    publishOwn(tx, me, 'drafts', 'update', { draft: form(draft) })
  })
}

export function removeDraft(realm: Realm, me: User, id: number): void {
  expectSynchronized(me)
  realm.transaction((tx) => {
    findDraft(realm, me, id)
    tx.remove('draft', id)
    publishOwn(tx, me, 'drafts', 'remove', { draft_id: id })
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
