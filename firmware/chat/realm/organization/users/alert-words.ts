/** Alert words: a user is notified of messages that contain them. Contract row E82, V1. */

import { invalidParameter } from '../../../base/error.ts'
import type { Realm } from '../../model/realm.ts'
import type { User } from '../../model/records.ts'

const WORD_CHARACTERS_MAX = 100

export const alertWordsOf = (realm: Realm, user: User): readonly string[] =>
  realm.state.alertWords.get(user.id)?.value ?? []

/** Ignores words that differ only in case from an existing one. Throws `BAD_REQUEST` if there are too many. */
export function addAlertWords(realm: Realm, me: User, input: readonly string[]): readonly string[] {
  const before = alertWordsOf(realm, me)
  const known = new Set(before.map(key))
  const added: string[] = []
  for (const word of cleaned(input)) {
    if (known.has(key(word))) continue
    known.add(key(word))
    added.push(word)
  }
  return added.length === 0 ? before : put(realm, me, [...before, ...added])
}

export function removeAlertWords(realm: Realm, me: User, input: readonly string[]): readonly string[] {
  const before = alertWordsOf(realm, me)
  const gone = new Set(input.map((word) => key(word.trim())))
  const left = before.filter((word) => !gone.has(key(word)))
  return left.length === before.length ? before : put(realm, me, left)
}

function put(realm: Realm, me: User, words: readonly string[]): readonly string[] {
  return realm.transaction((tx) => {
    tx.put('alertWords', { userId: me.id, value: words })
    tx.publish({ type: 'alert_words', to: [me.id], make: () => ({ alert_words: words }) })
    return words
  })
}

function cleaned(input: readonly string[]): string[] {
  const words = input.map((word) => word.trim()).filter((word) => word !== '')
  if (words.some((word) => [...word].length > WORD_CHARACTERS_MAX))
    throw invalidParameter('alert_words', `alert_words: a word must have at most ${WORD_CHARACTERS_MAX} characters`)
  return words
}

const key = (word: string): string => word.toLowerCase()
