/** What a message's text is as HTML, and what sending and editing need to know of it. Contract sections 2.4 and 6. */

import type { Rendered } from '../../render/render.ts'
import { linksInTopic, type TopicLink } from '../../render/topic-links.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { asPathId, decoded } from '../model/upload-path.ts'
import { linkifiersOf, renderText } from '../objects/rendering.ts'
import { findUpload } from '../objects/upload-claims.ts'

export interface RenderedMessage extends Omit<Rendered, 'uploads'> {
  /** Uploads that the text links, of those that its author may read: see model/upload-path.ts. */
  pathIds: readonly string[]
}

/** Throws `BAD_REQUEST` for a text whose HTML would be too long. */
export function renderFor(realm: Realm, author: User, content: string): RenderedMessage {
  const { uploads, ...rendered } = renderText(realm, author, content)
  const linked = new Set(uploads.map((path) => asPathId(decoded(path))))
  linked.delete(null)
  const pathIds = ([...linked] as string[]).filter((pathId) => findUpload(realm, author, pathId) !== undefined)
  return { ...rendered, pathIds }
}

/** Of a topic's name. */
export const topicLinks = (realm: Realm, topic: string): TopicLink[] => linksInTopic(topic, linkifiersOf(realm))
