/** Saved snippets: texts that a user stores for reuse. Contract section 2.5, row E40, V39. */

import { invalidParameter, notFound } from '../../../base/error.ts'
import { checkedContent } from '../../messages/content.ts'
import { publishOwn } from '../../model/own-events.ts'
import { nowOf, type Realm } from '../../model/realm.ts'
import type { SavedSnippet, User } from '../../model/records.ts'

const TITLE_CHARACTERS_MAX = 60

export const savedSnippetsOf = (realm: Realm, me: User) =>
  [...realm.state.savedSnippetsOf.get(me.id).values()].sort((a, b) => a.id - b.id).map(form)

/** Throws `BAD_REQUEST` if there are too many. */
export function addSavedSnippet(realm: Realm, me: User, title: string, content: string): number {
  return realm.transaction((tx) => {
    const snippet = {
      id: tx.nextId('savedSnippet'),
      userId: me.id,
      title: checkedTitle(title),
      content: checkedContent(content),
      dateCreated: nowOf(realm),
    }
    tx.put('savedSnippet', snippet)
    publishOwn(tx, me, 'saved_snippets', 'add', { saved_snippet: form(snippet) })
    return snippet.id
  })
}

/** Undefined members stay unchanged. Throws 404. */
export function changeSavedSnippet(
  realm: Realm,
  me: User,
  id: number,
  { title, content }: { title: string | undefined; content: string | undefined },
): void {
  realm.transaction((tx) => {
    const before = find(realm, me, id)
    const after = {
      ...before,
      title: title === undefined ? before.title : checkedTitle(title),
      content: content === undefined ? before.content : checkedContent(content),
    }
    if (after.title === before.title && after.content === before.content) return
    tx.put('savedSnippet', after)
    publishOwn(tx, me, 'saved_snippets', 'update', { saved_snippet: form(after) })
  })
}

export function removeSavedSnippet(realm: Realm, me: User, id: number): void {
  realm.transaction((tx) => {
    find(realm, me, id)
    tx.remove('savedSnippet', id)
    publishOwn(tx, me, 'saved_snippets', 'remove', { saved_snippet_id: id })
  })
}

function find(realm: Realm, me: User, id: number): SavedSnippet {
  const snippet = realm.state.savedSnippetsOf.get(me.id).get(id)
  if (snippet === undefined) throw notFound('Saved snippet does not exist.')
  return snippet
}

function checkedTitle(input: string): string {
  const title = input.trim()
  if (title === '') throw invalidParameter('title', 'title cannot be blank')
  if ([...title].length > TITLE_CHARACTERS_MAX)
    throw invalidParameter('title', `title must have at most ${TITLE_CHARACTERS_MAX} characters`)
  return title
}

const form = ({ id, title, content, dateCreated }: SavedSnippet) => ({ id, title, content, date_created: dateCreated })
