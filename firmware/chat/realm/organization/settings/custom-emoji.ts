/** Adds and deactivates custom emoji. Contract section 2.5, rows E115 and E116, V28. */

import { badRequest, forbidden, notFound } from '../../../base/error.ts'
import { emojiCode } from '../../../data/emoji.ts'
import { activeEmoji, emojiObject, emojiObjects } from '../../model/emoji.ts'
import type { Realm } from '../../model/realm.ts'
import { REALM_ID, type RealmEmoji, type User } from '../../model/records.ts'
import { atLeast, ROLES } from '../../model/roles.ts'
import type { Transaction } from '../../model/transaction.ts'
import { mayInRealm } from '../../permissions/group-rights.ts'
import { stillOf } from './stills.ts'

export const EMOJI_BYTES_MAX = 5 * 1024 * 1024 // contract section 9
const CHARACTERS = /^[0-9a-z._-]{1,100}$/
const END = /[0-9a-z]$/
const PATH = `/user_avatars/${REALM_ID}/emoji/images/`
const EXTRA_NAME = 'zulip' // the only emoji that is neither Unicode nor custom

/** Called before the picture is read, and again within the transaction. Returns the normalized name. Throws `BAD_REQUEST`. */
export function expectMayAddEmoji(realm: Realm, me: User, input: string): string {
  const name = input.trim().replaceAll(' ', '_')
  if (!mayInRealm(realm, 'can_add_custom_emoji_group', me)) throw forbidden('Insufficient permission')
  if (!CHARACTERS.test(name))
    throw badRequest(
      'Emoji names must contain only lowercase English letters, digits, dashes, underscores and periods.',
    )
  if (!END.test(name)) throw badRequest('Emoji names must end with either a letter or digit.')
  if (activeEmoji(realm, name) !== undefined) throw badRequest('A custom emoji with this name already exists.')
  const isBuiltIn = emojiCode(name) !== undefined || name === EXTRA_NAME
  if (isBuiltIn && !atLeast(me.role, ROLES.administrator))
    throw badRequest('Only administrators can override default emoji.')
  return name
}

/** Writes the picture to disk before the event is published. */
export function addEmoji(realm: Realm, me: User, input: string, bytes: Uint8Array): void {
  realm.transaction((tx) => {
    const name = expectMayAddEmoji(realm, me, input)
    const token = Buffer.from(realm.random(16)).toString('hex')
    const still = stillOf(bytes)
    realm.store.files.putPicture(fileName(token), bytes)
    if (still !== null) realm.store.files.putPicture(stillName(token), still)
    const emoji: RealmEmoji = {
      id: tx.nextId('realmEmoji'),
      name,
      authorId: me.id,
      isDeactivated: false,
      sourceUrl: `${PATH}${token}.png`,
      stillUrl: still && `${PATH}still/${token}.png`,
    }
    tx.put('realmEmoji', emoji)
    publish(realm, tx, { op: 'add', emoji: emojiObject(emoji) })
  })
}

/** The picture is retained for messages that show it. */
export function deactivateEmoji(realm: Realm, me: User, name: string): void {
  realm.transaction((tx) => {
    const emoji = activeEmoji(realm, name)
    if (emoji === undefined) throw notFound(`Emoji '${name}' does not exist`)
    if (emoji.authorId !== me.id && !atLeast(me.role, ROLES.administrator))
      throw forbidden('Must be an organization administrator or emoji author')
    tx.put('realmEmoji', { ...emoji, isDeactivated: true })
    publish(realm, tx, { op: 'update_one', emoji_id: String(emoji.id), data: { deactivated: true } })
  })
}

/** `file` contains a random token, which protects the picture. */
export function emojiPicture(realm: Realm, file: string, isStill: boolean): Uint8Array | undefined {
  const token = /^([0-9a-f]{32})\.png$/.exec(file)?.[1]
  return token === undefined ? undefined : realm.store.files.picture((isStill ? stillName : fileName)(token))
}

const fileName = (token: string): string => `emoji ${token}`
const stillName = (token: string): string => `still ${token}`

function publish(realm: Realm, tx: Transaction, change: Readonly<Record<string, unknown>>): void {
  const whole = { op: 'update', realm_emoji: emojiObjects(realm) }
  tx.publish({
    type: 'realm_emoji',
    to: 'everyone',
    make: ({ can }) => (can.individual_emoji_changes ? change : whole),
  })
}
