/** Custom emoji of the organization. Contract section 3.7, rows E114 to E116. */

import { bodyReply } from '../../http/reply.ts'
import { badRequest, ChatError } from '../base/error.ts'
import { raw } from '../pipeline/envelope.ts'
import { integer, text } from '../pipeline/parameters.ts'
import { imageHeader } from '../realm/messages/images.ts'
import { emojiObjects } from '../realm/model/emoji.ts'
import { REALM_ID } from '../realm/model/records.ts'
import {
  addEmoji,
  deactivateEmoji,
  EMOJI_BYTES_MAX,
  emojiPicture,
  expectMayAddEmoji,
} from '../realm/organization/settings/custom-emoji.ts'
import { PICTURE_HEADERS, readPicture } from '../realm/organization/users/avatar-pictures.ts'
import { type AnyDeclaration, declare, declareOpen } from './declare.ts'

const ONE = { path: '/realm/emoji/:emoji_name', segments: { emoji_name: text() } } as const

export const emojiDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'GET',
    path: '/realm/emoji',
    who: 'account',
    handle: ({ realm }) => ({ emoji: emojiObjects(realm) }),
  }),
  declare({
    method: 'POST',
    ...ONE,
    who: 'account',
    fileBytesMax: EMOJI_BYTES_MAX,
    handle: async (request) => {
      const { realm, path, file } = request
      expectMayAddEmoji(realm, request.me, path.emoji_name)
      if (file === undefined) throw badRequest('You must upload exactly one file.')
      const bytes = await readPicture(file)
      addEmoji(realm, request.me, path.emoji_name, bytes)
      return {}
    },
  }),
  declare({
    method: 'DELETE',
    ...ONE,
    who: 'account',
    handle: ({ realm, me, path }) => {
      deactivateEmoji(realm, me, path.emoji_name)
      return {}
    },
  }),
]

/** Clients fetch them without credentials: the file name is the secret. */
export const emojiFileDeclarations: readonly AnyDeclaration[] = ['', 'still/'].map((folder) =>
  declareOpen({
    method: 'GET',
    path: `/user_avatars/:realm_id/emoji/images/${folder}:file`,
    who: 'nobody',
    isMedia: true,
    segments: { realm_id: integer(), file: text() },
    handle: ({ realm, path }) => {
      const bytes = path.realm_id === REALM_ID ? emojiPicture(realm, path.file, folder !== '') : undefined
      if (bytes === undefined) throw new ChatError('NOT_FOUND', 'No such picture')
      return raw(bodyReply(200, Uint8Array.from(bytes), `image/${imageHeader(bytes)?.type ?? 'png'}`, PICTURE_HEADERS))
    },
  }),
)
