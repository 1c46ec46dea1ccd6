/** A view of the organization as text: for other tabs of the browser, for its disk, and for the time of a lock. */

import type { RealmView } from './realm.ts'
import { createTypists } from './typists.ts'
import { createUnread, type UnreadMessages } from './unread.ts'

const MAP = '\0map' // no object of the API has members of these names
const SET = '\0set'

/** Open message lists and typing users are not part of it. */
export const packView = (view: RealmView): string =>
  JSON.stringify({ ...view, unread: view.unread.all(), lists: new Set() }, (_, value) => {
    if (value instanceof Map) return { [MAP]: [...value] }
    return value instanceof Set ? { [SET]: [...value] } : value
  })

export function unpackView(text: string): RealmView {
  const view = JSON.parse(text, (_, value) => {
    if (typeof value !== 'object' || value === null) return value
    if (MAP in value) return new Map(value[MAP])
    return SET in value ? new Set(value[SET]) : value
  }) as RealmView & { unread: UnreadMessages }
  // A view that an older version of the page has stored has no folders, and no generation.
  return {
    ...view,
    folders: view.folders ?? new Map(),
    unread: createUnread(view.unread),
    typists: createTypists(view.typists.expiryMs),
    generation: view.generation ?? 0,
  }
}
