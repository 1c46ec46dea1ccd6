/** Unicode emoji and custom emoji of the organization. Contract sections 2.4 and 2.5. */

import { badRequest } from '../../base/error.ts'
import { emojiCode, emojiName } from '../../data/emoji.ts'
import type { Realm } from './realm.ts'
import type { RealmEmoji } from './records.ts'

export const REACTION_TYPES = ['unicode_emoji', 'realm_emoji', 'zulip_extra_emoji'] as const
type ReactionType = (typeof REACTION_TYPES)[number]

export interface Emoji {
  readonly emoji_name: string
  readonly emoji_code: string
  readonly reaction_type: ReactionType
}

export interface NamedEmoji {
  readonly name: string | undefined
  readonly code: string | undefined
  readonly type: ReactionType | undefined
}

/**
 * Throws `BAD_REQUEST` if the emoji does not exist or the code belongs to another one. An unknown name with a valid code is replaced by the
 * name of that emoji.
 */
export function findEmoji(realm: Realm, { name, code, type }: NamedEmoji): Emoji {
  const custom = name === undefined ? undefined : activeEmoji(realm, name)
  if ((type === undefined || type === 'realm_emoji') && custom !== undefined) {
    if (code !== undefined && code !== String(custom.id)) throw badRequest('Invalid emoji name.')
    return { emoji_name: custom.name, emoji_code: String(custom.id), reaction_type: 'realm_emoji' }
  }
  if ((type === undefined || type === 'zulip_extra_emoji') && name === 'zulip') {
    if (code !== undefined && code !== 'zulip') throw badRequest('Invalid emoji code.')
    return { emoji_name: 'zulip', emoji_code: 'zulip', reaction_type: 'zulip_extra_emoji' }
  }
  if ((type === undefined || type === 'unicode_emoji') && name !== undefined) {
    if (code !== undefined && emojiName(code) === undefined) throw badRequest('Invalid emoji code.')
    const known = emojiCode(name)
    if (code !== undefined && known !== undefined && known !== code) throw badRequest('Invalid emoji name.')
    const emoji_code = known ?? code
    const emoji_name = known === undefined && code !== undefined ? emojiName(code) : name
    if (emoji_code !== undefined && emoji_name !== undefined)
      return { emoji_name, emoji_code, reaction_type: 'unicode_emoji' }
  }
  throw badRequest(`Emoji '${name ?? code ?? ''}' does not exist`)
}

/** Deactivated emoji may have the same name. */
export function activeEmoji(realm: Realm, name: string): RealmEmoji | undefined {
  for (const emoji of realm.state.realmEmoji.all()) if (emoji.name === name && !emoji.isDeactivated) return emoji
  return undefined
}

export const emojiObjects = (realm: Realm) =>
  Object.fromEntries([...realm.state.realmEmoji.all()].map((emoji) => [String(emoji.id), emojiObject(emoji)]))

export const emojiObject = ({ id, name, sourceUrl, stillUrl, isDeactivated, authorId }: RealmEmoji) => ({
  id: String(id),
  name,
  source_url: sourceUrl,
  still_url: stillUrl,
  deactivated: isDeactivated,
  author_id: authorId,
})
