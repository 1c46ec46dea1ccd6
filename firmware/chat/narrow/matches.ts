/** The highlighted matches of a search. Contract 2.4: match_content, match_subject. */

import { locationOf } from '../realm/messages/location.ts'
import type { Realm } from '../realm/model/realm.ts'
import { shownHtml } from '../realm/objects/rendering.ts'
import { highlight, type Search } from '../search/search.ts'
import type { MessageRow } from '../store/messages.ts'

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function matches(realm: Realm, row: MessageRow, search: Search) {
  const location = locationOf(realm, row)
  const topic = location.kind === 'channel' ? location.topic : ''
  return {
    match_content: highlight(search, shownHtml(realm, row.html)),
    match_subject: highlight(
      search,
      topic.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? character),
    ),
  }
}
