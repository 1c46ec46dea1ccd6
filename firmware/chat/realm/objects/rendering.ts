/** Renders texts as HTML with the organization's names, as far as the author may use them. Contract section 6. */

import { badRequest } from '../../base/error.ts'
import { eventWithoutForeignPictures, withoutForeignPictures } from '../../render/foreign-pictures.ts'
import { RenderedTooLong } from '../../render/html.ts'
import type { Linkifiers } from '../../render/linkifiers.ts'
import { type NamedUpload, type Names, NO_NAMES, type RenderSettings } from '../../render/names.ts'
import { type Rendered, render } from '../../render/render.ts'
import type { UploadRow } from '../../store/uploads.ts'
import { fold } from '../model/names.ts'
import { urlFor } from '../model/organization-url.ts'
import { realmSetting, userSetting } from '../model/read-settings.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { organizationOf } from '../model/state.ts'
import { EMPTY_TOPIC_NAME } from '../model/topic-names.ts'
import { asPathId, decoded } from '../model/upload-path.ts'
import { canSee } from '../permissions/channel-rights.ts'
import { mayAccess } from '../permissions/user-access.ts'
import { visibilityOf } from '../permissions/visibility.ts'
import { findUpload } from './upload-claims.ts'
import { contentTypeOf } from './upload-serving.ts'

/** Throws `BAD_REQUEST` if the HTML would be too long. */
export function renderText(realm: Realm, author: User, text: string): Rendered {
  return rendered(text, namesFor(realm, author), {
    ...settingsOf(realm),
    realmUrl: urlFor(realm, author),
    translateEmoticons: userSetting(author, 'translate_emoticons'),
  })
}

/** HTML of a stored message for clients. Pictures of foreign hosts are removed unless the operator has enabled external previews. */
export const shownHtml = ({ state }: Realm, html: string): string =>
  organizationOf(state).operator.externalPreviews ? html : withoutForeignPictures(html)

/** Does the same for the events that wait in queues. */
export function hideQueuedPictures({ state, events }: Realm): void {
  if (!organizationOf(state).operator.externalPreviews) events.revise(eventWithoutForeignPictures)
}

/** Descriptions contain no mentions and no previews. Returns '' for an empty description. */
export function renderDescription(realm: Realm, description: string): string {
  const settings = { ...settingsOf(realm), imagePreviews: false }
  return rendered(description, { ...NO_NAMES, emoji: (name) => emojiPath(realm, name) }, settings).html
}

function rendered(text: string, names: Names, settings: RenderSettings): Rendered {
  try {
    return render(text, names, settings)
  } catch (error) {
    if (error instanceof RenderedTooLong) throw badRequest('The text would be too long as HTML')
    throw error
  }
}

function settingsOf(realm: Realm): RenderSettings {
  const organization = organizationOf(realm.state)
  return {
    realmUrl: organization.url,
    translateEmoticons: false,
    imagePreviews: realmSetting(organization, 'inline_image_preview'),
    externalPreviews: organization.operator.externalPreviews ?? false,
    codeLanguage: realmSetting(organization, 'default_code_block_language'),
    emptyTopicName: EMPTY_TOPIC_NAME,
    linkifiers: linkifiersOf(realm),
  }
}

export const linkifiersOf = ({ state }: Realm): Linkifiers => state.linkifiers()

/** Names that the author may not see are treated as unknown. */
function namesFor(realm: Realm, author: User): Names {
  const { state, store } = realm
  const seen = (user: User | undefined) => (user !== undefined && mayAccess(realm, author, user) ? user : undefined)
  return {
    userById: (id) => seen(state.user.get(id)),
    userByName: (name) => {
      const named = [...state.usersByName.get(fold(name)).values()].filter((user) => seen(user) !== undefined)
      return named.find(({ isActive }) => isActive) ?? named[0]
    },
    group(name) {
      const group = state.groupByName.get(fold(name))
      return group === undefined ? undefined : { id: group.id, name: group.name, deactivated: group.isDeactivated }
    },
    channel(name) {
      const channel = state.channelByName.get(fold(name))
      return channel?.name === name && canSee(realm, author, channel) ? channel : undefined
    },
    newestMessage(channelId, topic) {
      const channel = state.channel.require(channelId)
      const found = store.topics.find(channel.recipientId, fold(topic))
      const newest = found === undefined ? undefined : store.topics.newest(found.id)
      const row = newest === undefined ? undefined : store.messages.get(newest)
      return row !== undefined && visibilityOf(realm, author).canRead(row) ? row.id : undefined
    },
    emoji: (name) => emojiPath(realm, name),
    upload: (path) => {
      const pathId = asPathId(decoded(path))
      const upload = pathId === null ? undefined : findUpload(realm, author, pathId)
      return upload === undefined ? undefined : namedUpload(upload)
    },
  }
}

const namedUpload = ({ name, width, height }: UploadRow): NamedUpload => ({
  contentType: contentTypeOf(name),
  ...(width !== null && height !== null && { width, height }),
})

function emojiPath({ state }: Realm, name: string): string | undefined {
  for (const emoji of state.realmEmoji.all()) if (emoji.name === name && !emoji.isDeactivated) return emoji.sourceUrl
  return undefined
}
