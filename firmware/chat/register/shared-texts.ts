/**
 * JSON of users and channels, kept for calls that come in crowds: after an unlock every client registers, and the answers contain the same
 * ones. A text is dropped when any user, group, channel or subscription changes.
 */

import { createIdleTimer } from '../../base/idle-timer.ts'
import { JsonText } from '../base/json-text.ts'
import type { Realm } from '../realm/model/realm.ts'

/** 10,000 accounts take some 5,000,000. Above it everything is dropped. */
const CHARACTERS_MAX = 8_000_000
/** Clients of a crowd follow each other closely; memory is not held longer. */
const KEPT_MS = 1000

export interface SharedTexts {
  /** Returns the JSON of what `make` returns, which must depend on nothing but `form` and users, groups, channels and subscriptions. */
  of(record: object, form: string, make: () => object): string
}

/** Call once for each register. */
export function sharedTexts(realm: Realm): SharedTexts {
  const texts = textsOf.get(realm) ?? createSharedTexts()
  textsOf.set(realm, texts)
  texts.begin(realm.state.memberChanges())
  return texts
}

export const listText = (texts: readonly string[]): JsonText => new JsonText([`[${texts.join(',')}]`])

/** JSON of one object with the members of all of these. */
export const mergedText = (...objects: readonly string[]): string =>
  `{${objects.flatMap((text) => (text === '{}' ? [] : text.slice(1, -1))).join(',')}}`

const textsOf = new WeakMap<Realm, ReturnType<typeof createSharedTexts>>()

function createSharedTexts(): SharedTexts & { begin(changes: number): void } {
  const forms = new Map<string, Map<object, string>>()
  let characters = 0
  let changes = 0

  const drop = (): void => {
    forms.clear()
    characters = 0
  }
  const idle = createIdleTimer(KEPT_MS, drop)

  return {
    begin(now) {
      if (now !== changes) drop()
      changes = now
      idle.touch()
    },
    of(record, form, make) {
      let texts = forms.get(form)
      const known = texts?.get(record)
      if (known !== undefined) return known
      const text = JSON.stringify(make())
      if (characters + text.length > CHARACTERS_MAX) {
        drop()
        texts = undefined
      }
      if (texts === undefined) {
        texts = new Map()
        forms.set(form, texts)
      }
      texts.set(record, text)
      characters += text.length
      return text
    },
  }
}
