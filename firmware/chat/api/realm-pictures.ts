/** Icon and logos of the organization. Contract section 3.7, row E120. */

import { bodyReply } from '../../http/reply.ts'
import { badRequest, ChatError } from '../base/error.ts'
import { raw } from '../pipeline/envelope.ts'
import { boolean, integer, oneOf, text } from '../pipeline/parameters.ts'
import { imageHeader } from '../realm/messages/images.ts'
import { REALM_ID, type RealmPicture } from '../realm/model/records.ts'
import { organizationOf } from '../realm/model/state.ts'
import {
  pictureFields,
  REALM_PICTURES,
  realmPicture,
  setRealmPicture,
} from '../realm/organization/settings/pictures.ts'
import { AVATAR_BYTES_MAX, PICTURE_HEADERS, readPicture } from '../realm/organization/users/avatar-pictures.ts'
import { type AnyDeclaration, declare, declareOpen } from './declare.ts'

const NIGHT = { night: boolean().default(false) }
const logo = (night: boolean): RealmPicture => (night ? 'night_logo' : 'logo')

/** Both logos answer with `logo_url`. */
const answer = (name: 'icon' | 'logo', picture: RealmPicture, fields: Record<string, string>) => ({
  [`${name}_url`]: fields[`${picture}_url`],
})

const endpointsOf = (name: 'icon' | 'logo'): readonly AnyDeclaration[] => {
  const pictureOf = ({ night }: { night: boolean }): RealmPicture => (name === 'icon' ? 'icon' : logo(night))
  const shared = { path: `/realm/${name}`, who: 'administrator', parameters: NIGHT } as const
  return [
    declare({
      ...shared,
      method: 'GET',
      handle: ({ realm, input }) => {
        const picture = pictureOf(input)
        return answer(name, picture, pictureFields(organizationOf(realm.state), picture))
      },
    }),
    declare({
      ...shared,
      method: 'POST',
      fileBytesMax: AVATAR_BYTES_MAX,
      handle: async ({ realm, input, file }) => {
        if (file === undefined) throw badRequest(`You must upload exactly one ${name}.`)
        const picture = pictureOf(input)
        return answer(name, picture, setRealmPicture(realm, picture, await readPicture(file)))
      },
    }),
    declare({
      ...shared,
      method: 'DELETE',
      handle: ({ realm, input }) => {
        const picture = pictureOf(input)
        return answer(name, picture, setRealmPicture(realm, picture, null))
      },
    }),
  ]
}

export const realmPictureDeclarations: readonly AnyDeclaration[] = [...endpointsOf('icon'), ...endpointsOf('logo')]

/** Served without credentials: the sign-in page shows these pictures. */
export const realmPictureFileDeclarations: readonly AnyDeclaration[] = [
  declareOpen({
    method: 'GET',
    path: '/user_avatars/:realm_id/realm/:file',
    who: 'nobody',
    isMedia: true,
    segments: { realm_id: integer(), file: oneOf(...REALM_PICTURES.map((picture) => `${picture}.png` as const)) },
    parameters: { version: text().optional() },
    handle: ({ realm, path }) => {
      const bytes =
        path.realm_id === REALM_ID ? realmPicture(realm, path.file.replace(/\.png$/, '') as RealmPicture) : undefined
      if (bytes === undefined) throw new ChatError('NOT_FOUND', 'No such picture')
      return raw(bodyReply(200, Uint8Array.from(bytes), `image/${imageHeader(bytes)?.type ?? 'png'}`, PICTURE_HEADERS))
    },
  }),
]
