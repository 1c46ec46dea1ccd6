/**
 * The words of the page in the language of the account; before the sign-in, in that of the browser. The page is built once for each
 * language, whose words are then part of the main script; others are scripts on demand. The server chooses by `accept-language`.
 */

import { signal } from '@preact/signals'
// In other builds than the English one this is their language: tools/build-chat-page.ts.
import * as builtIn from './en.ts'
import { setFormats } from './format.ts'

export type { OrganizationSectionName, SettingsSection } from './en.ts'

/** The same names and parameters with texts of another language. */
type Translated<T> = T extends string
  ? string
  : T extends (...parameters: infer P) => string
    ? (...parameters: P) => string
    : T extends object
      ? { readonly [Name in keyof T]: Translated<T[Name]> }
      : T

type Words = Translated<typeof builtIn>
export type Language = keyof typeof LOADERS

/** Language of `builtIn`, set by tools/build-chat-page.ts. */
declare const BUILT_IN: 'en' | 'de'

const LOADERS = {
  en: async () => (BUILT_IN === 'en' ? builtIn : import('./en.ts')),
  de: async () => (BUILT_IN === 'de' ? builtIn : import('./de.ts')),
} satisfies Record<string, () => Promise<Words>>

/** Each in its own language. */
export const LANGUAGES: readonly (readonly [Language, string])[] = [
  ['en', 'English'],
  ['de', 'Deutsch'],
]

/** Undefined while the modules of the page are evaluated, so that none of them keeps words of one language. */
export let words: Words

/** The page is rendered anew when it changes. */
export const language = signal<Language>('en')

let last: Promise<void> = Promise.resolve()

/** Resolves once the words are those of the first tag that the page has words for; English if there is none. */
export function chooseLanguage(tags: readonly string[]): Promise<void> {
  last = last.then(() => take(tags.map(baseOf).find(isKnown) ?? 'en'))
  return last
}

/** For keys that come from the server. */
export const wordFor = (texts: Readonly<Record<PropertyKey, string>>, key: PropertyKey): string | undefined =>
  texts[key]

/** `de` of `de-AT`: the API takes tags with an underscore, too. */
const baseOf = (tag: string): string => tag.toLowerCase().replace(/[-_].*/, '')

const isKnown = (tag: string): tag is Language => Object.hasOwn(LOADERS, tag)

/** If the script does not come, the words stay as they are. */
async function take(next: Language): Promise<void> {
  const isFirst = (words as Words | undefined) === undefined
  if (next === language.value && !isFirst) return
  const loaded = await LOADERS[next]().catch(() => null)
  if (loaded === null && !isFirst) return
  words = loaded ?? builtIn
  setLanguage(loaded === null ? BUILT_IN : next)
}

function setLanguage(next: Language): void {
  setFormats(next)
  document.documentElement.lang = next
  language.value = next
}
