/** What a text can name and how it is set: the renderer asks, so that it needs no organisation to be tested. */

import type { Linkifiers } from './linkifiers.ts'

/** Names in an organisation, as the author of the text may use them. Names of users and groups match in any case. */
export interface Names {
  userById(id: number): NamedUser | undefined
  /** Of several users with the name any one. */
  userByName(name: string): NamedUser | undefined
  group(name: string): NamedGroup | undefined
  channel(name: string): { id: number } | undefined
  /** Id of the newest message of a topic that the author may see. */
  newestMessage(channelId: number, topic: string): number | undefined
  /** Path of a custom emoji that is in use. */
  emoji(name: string): string | undefined
  /** What is known of a file by the part of its path after `/user_uploads/`. */
  upload(pathId: string): NamedUpload | undefined
}

interface NamedUser {
  id: number
  fullName: string
  isActive: boolean
}

interface NamedGroup {
  id: number
  name: string
  deactivated: boolean
}

export interface NamedUpload {
  contentType: string
  /** In pixels, of pictures. */
  width?: number
  height?: number
}

export interface RenderSettings {
  /** Address of the organisation without a slash at its end; links into it become relative. "" where it is not known. */
  realmUrl: string
  /** `:)` becomes an emoji: a setting of the author. */
  translateEmoticons: boolean
  /** inline_image_preview. */
  imagePreviews: boolean
  /** Pictures and videos of other hosts have previews, for which each reader's client asks that host. */
  externalPreviews: boolean
  /** default_code_block_language; "" for none. */
  codeLanguage: string
  /** What stands for a topic without a name. */
  emptyTopicName: string
  linkifiers: Linkifiers
}

/** Knows nothing: for texts in which nothing can be named. */
export const NO_NAMES: Names = {
  userById: () => undefined,
  userByName: () => undefined,
  group: () => undefined,
  channel: () => undefined,
  newestMessage: () => undefined,
  emoji: () => undefined,
  upload: () => undefined,
}
