/** Reactions. Contract sections 2.4, 3.2 (E16, E17), V21. */

import { badRequest, ChatError } from '../../base/error.ts'
import type { MessageRow } from '../../store/messages.ts'
import { HAS_REACTION } from '../model/content-flags.ts'
import { type Emoji, findEmoji, type NamedEmoji } from '../model/emoji.ts'
import { metadataOf, type Reaction } from '../model/message-metadata.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { placeholderObject } from '../objects/user-view.ts'
import { cannotSee } from '../permissions/user-access.ts'
import { accessMessageToChange, audienceOf } from './access.ts'

const REACTIONS_MAX = 2000 // per message: all are sent with it
const REACTIONS_OF_ACCOUNT_MAX = 100 // per account, so that others can still react

export function addReaction(realm: Realm, me: User, messageId: number, emoji: NamedEmoji): void {
  realm.transaction((tx) => {
    const row = accessMessageToChange(realm, me, messageId)
    const before = metadataOf(row).reactions ?? []
    const added = emojiOf(realm, before, emoji)
    if (before.some((one) => one.user_id === me.id && isSame(one, added)))
      throw new ChatError('REACTION_ALREADY_EXISTS', 'Reaction already exists.')
    if (before.length >= REACTIONS_MAX) throw badRequest(`A message has at most ${REACTIONS_MAX} reactions`)
    if (before.filter(({ user_id }) => user_id === me.id).length >= REACTIONS_OF_ACCOUNT_MAX)
      throw badRequest(`An account has at most ${REACTIONS_OF_ACCOUNT_MAX} reactions to one message`)
    setReactions(realm, row, [...before, { ...added, user_id: me.id }])
    publishReaction(realm, tx, me, row, 'add', added)
  })
}

export function removeReaction(realm: Realm, me: User, messageId: number, emoji: NamedEmoji): void {
  if (emoji.name === undefined && emoji.code === undefined)
    throw badRequest('At least one of the following arguments must be present: emoji_name, emoji_code')
  realm.transaction((tx) => {
    const row = accessMessageToChange(realm, me, messageId)
    const before = metadataOf(row).reactions ?? []
    const removed = before.find((one) => one.user_id === me.id && isMeant(one, emoji))
    if (removed === undefined) throw new ChatError('REACTION_DOES_NOT_EXIST', "Reaction doesn't exist.")
    setReactions(
      realm,
      row,
      before.filter((one) => one !== removed),
    )
    publishReaction(realm, tx, me, row, 'remove', removed)
  })
}

function setReactions({ store }: Realm, row: MessageRow, reactions: readonly Reaction[]): void {
  const bits = reactions.length > 0 ? row.bits | HAS_REACTION : row.bits & ~HAS_REACTION
  store.messages.update({ ...row, bits, extra: JSON.stringify({ ...metadataOf(row), reactions }) })
}

/**
 * If the message already has a reaction with this emoji, returns that one with its name, even if the emoji was deactivated since. Throws as
 * `findEmoji`.
 */
function emojiOf(realm: Realm, reactions: readonly Reaction[], emoji: NamedEmoji): Emoji {
  const there = reactions.find((one) => isMeant(one, emoji))
  if (there !== undefined) return there
  const found = findEmoji(realm, emoji)
  return reactions.find((one) => isSame(one, found)) ?? found
}

function isMeant(reaction: Reaction, { name, code, type }: NamedEmoji): boolean {
  if (type !== undefined && reaction.reaction_type !== type) return false
  if (code !== undefined) return reaction.emoji_code === code
  return reaction.emoji_name === name
}

const isSame = (a: Emoji, b: Emoji): boolean => a.emoji_code === b.emoji_code && a.reaction_type === b.reaction_type

function publishReaction(
  realm: Realm,
  tx: Transaction,
  user: User,
  row: MessageRow,
  op: 'add' | 'remove',
  { emoji_name, emoji_code, reaction_type }: Emoji,
): void {
  const audience = audienceOf(realm, row)
  const blind = cannotSee(realm, audience, user)
  const publish = (to: Iterable<number>, shown: { email: string; full_name: string }): void => {
    const body = {
      op,
      user_id: user.id,
      user: { user_id: user.id, ...shown, is_mirror_dummy: false },
      message_id: row.id,
      emoji_name,
      emoji_code,
      reaction_type,
    }
    tx.publish({ type: 'reaction', to, make: () => body })
  }
  publish(new Set(audience.map(({ id }) => id)).difference(blind), { email: user.email, full_name: user.fullName })
  const { email, full_name } = placeholderObject(realm, user)
  publish(blind, { email, full_name })
}
