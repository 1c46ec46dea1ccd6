/** Rendering of messages to HTML, and the data that sending and editing derive from it. Contract sections 2.4 and 6. */

import type { Rendered } from '../../render/render.ts'
import { linksInTopic, type TopicLink } from '../../render/topic-links.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { asPathId, decoded } from '../model/upload-path.ts'
import { linkifiersOf, renderText } from '../objects/rendering.ts'
import { findUpload } from '../objects/upload-claims.ts'

export interface RenderedMessage extends Omit<Rendered, 'uploads'> {
  /** Linked uploads that the author may read: see model/upload-path.ts. */
  pathIds: readonly string[]
}

/** Throws `BAD_REQUEST` if the HTML would be too long. */
export function renderFor(realm: Realm, author: User, content: string): RenderedMessage {
  const { uploads, ...rendered } = renderText(realm, author, content)
  const linked = new Set(uploads.map((path) => asPathId(decoded(path))))
  linked.delete(null)
  const pathIds = ([...linked] as string[]).filter((pathId) => findUpload(realm, author, pathId) !== undefined)
  return { ...rendered, pathIds }
}

export const topicLinks = (realm: Realm, topic: string): TopicLink[] => linksInTopic(topic, linkifiersOf(realm))
