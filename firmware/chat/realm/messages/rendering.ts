/** Texts of messages as HTML, with the names of this organisation. Contract section 6. */

import type { Realm } from '../realm.ts'
import type { User } from '../records.ts'
import { linkedPathIds } from '../uploads/path.ts'

export interface RenderedMessage {
  html: string
  /** Ids of those who are told: silent mentions are none. */
  users: readonly number[]
  groups: readonly number[]
  channelWildcard: boolean
  topicWildcard: boolean
  hasLink: boolean
  hasImage: boolean
  /** What alert words are looked for in. */
  alertText: string
  /** Uploads that the text links: see uploads/path.ts. */
  pathIds: readonly string[]
}

export function renderFor(_realm: Realm, _author: User, content: string): RenderedMessage {
  return {
    html: `<p>${content.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')}</p>`,
    users: [],
    groups: [],
    channelWildcard: false,
    topicWildcard: false,
    hasLink: false,
    hasImage: false,
    alertText: content,
    pathIds: linkedPathIds(content),
  }
}

/** Of a topic's name: contract section 2.4. */
export const topicLinks = (_realm: Realm, _topic: string): { text: string; url: string }[] => []
