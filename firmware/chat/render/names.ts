/** The names and settings that rendering depends on. The renderer needs no organization, which keeps it testable. */

import type { Linkifiers } from './linkifiers.ts'

/** Names in an organization that the author of the text may use. Names of users and groups are case-insensitive. */
export interface Names {
  userById(id: number): NamedUser | undefined
  /** Any one if several users share the name. */
  userByName(name: string): NamedUser | undefined
  group(name: string): NamedGroup | undefined
  channel(name: string): { id: number } | undefined
  /** Id of the newest message of a topic; undefined if the author cannot access it. */
  newestMessage(channelId: number, topic: string): number | undefined
  emoji(name: string): string | undefined
  /** Metadata of an upload. `pathId`: its path relative to `/user_uploads/`. */
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
  /** Pixels; pictures only. */
  width?: number
  height?: number
}

export interface RenderSettings {
  /** Address of the organization without trailing slash; "" if unknown. Links into the organization become relative. */
  realmUrl: string
  /** Converts `:)` to an emoji: a setting of the author. */
  translateEmoticons: boolean
  /** Zulip's setting inline_image_preview. */
  imagePreviews: boolean
  /** Shows previews of media of other hosts, which each reader's client then requests from that host. */
  externalPreviews: boolean
  /** Zulip's setting default_code_block_language; "" for none. */
  codeLanguage: string
  emptyTopicName: string
  linkifiers: Linkifiers
}

export const NO_NAMES: Names = {
  userById: () => undefined,
  userByName: () => undefined,
  group: () => undefined,
  channel: () => undefined,
  newestMessage: () => undefined,
  emoji: () => undefined,
  upload: () => undefined,
}
