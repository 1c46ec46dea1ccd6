/** Avatars of accounts: setting, removing, serving. Contract row E85. */

import { bodyReply } from '../../http/reply.ts'
import { badRequest, ChatError } from '../base/error.ts'
import { raw } from '../pipeline/envelope.ts'
import { integer, text } from '../pipeline/parameters.ts'
import { imageHeader } from '../realm/messages/images.ts'
import type { Realm } from '../realm/model/realm.ts'
import { REALM_ID, type User } from '../realm/model/records.ts'
import { avatarSeed, avatarToken, avatarUrl } from '../realm/objects/avatar-url.ts'
import { AVATAR_MEDIUM_PX, AVATAR_PX, generatedAvatar } from '../realm/objects/generated-avatar.ts'
import {
  AVATAR_BYTES_MAX,
  PICTURE_HEADERS,
  pictureOf,
  readPicture,
  removePicture,
  setPicture,
} from '../realm/organization/users/avatar-pictures.ts'
import { type AnyDeclaration, declare, declareOpen } from './declare.ts'
import { expectAllowed } from './settings.ts'

const urlOf = (realm: Realm, user: User) => ({ avatar_url: avatarUrl(realm, user, { clientGravatar: false }) })

const expectChangeable = (realm: Realm, me: User): void =>
  expectAllowed(realm, me, 'avatar_changes_disabled', 'Avatar changes are disabled in this organization.')

export const avatarDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'POST',
    path: '/users/me/avatar',
    who: 'human',
    fileBytesMax: AVATAR_BYTES_MAX,
    handle: async (request) => {
      const { realm, file } = request
      if (file === undefined) throw badRequest('You must upload exactly one avatar.')
      const bytes = await readPicture(file)
      return realm.transaction((turn) => {
        expectChangeable(realm, request.me)
        return urlOf(realm, setPicture(realm, turn, request.me, bytes))
      })
    },
  }),
  declare({
    method: 'DELETE',
    path: '/users/me/avatar',
    who: 'human',
    handle: ({ realm, me }) =>
      realm.transaction((turn) => {
        expectChangeable(realm, me)
        return urlOf(realm, removePicture(realm, turn, me))
      }),
  }),
]

/** `<user id>-<token>.png`, or `-medium.png`. Clients fetch it without credentials: the token in the name is the secret. */
const FILE = /^(\d{1,15})-([0-9a-f]{32})(-medium)?\.png$/

export const avatarFileDeclarations: readonly AnyDeclaration[] = [
  declareOpen({
    method: 'GET',
    path: '/user_avatars/:realm_id/:file',
    who: 'nobody',
    isMedia: true,
    segments: { realm_id: integer(), file: text() },
    parameters: { version: text().optional() },
    handle: ({ realm, path }) => {
      const [, digits, token, medium] = FILE.exec(path.file) ?? []
      const id = Number(digits)
      if (path.realm_id !== REALM_ID || digits === undefined || token !== avatarToken(realm, id)) throw noSuchPicture()
      const user = realm.state.user.get(id)
      const own = user && pictureOf(realm, user)
      const bytes = own ?? generatedAvatar(avatarSeed(realm, id), medium ? AVATAR_MEDIUM_PX : AVATAR_PX)
      return raw(bodyReply(200, Uint8Array.from(bytes), `image/${imageHeader(bytes)?.type ?? 'png'}`, PICTURE_HEADERS))
    },
  }),
]

const noSuchPicture = () => new ChatError('NOT_FOUND', 'No such picture')
