/** Emoji to choose from: Unicode's, from a list of the server, and the organization's own. */

import { ownMedia } from './message/links.ts'
import type { RealmView } from './model/realm.ts'

export interface EmojiChoice {
  readonly name: string
  readonly code: string
  readonly type: 'unicode_emoji' | 'realm_emoji' | 'zulip_extra_emoji'
  readonly names: readonly string[]
}

const POPULAR =
  '1f44d 2764 1f602 1f389 1f64f 1f440 2705 1f680 1f4af 1f525 1f62e 1f622 1f914 1f44f 1f60d 1f605 1f44e 1f4a1'.split(' ')
const FOUND_MAX = 60

let ofUnicode: Promise<readonly EmojiChoice[]> | null = null

/** Throws if the list cannot be fetched; a later call tries again. */
export async function loadEmoji(realm: RealmView): Promise<readonly EmojiChoice[]> {
  ofUnicode ??= fetchUnicode()
  try {
    return [...emojiOfRealm(realm), ...(await ofUnicode)]
  } catch (error) {
    ofUnicode = null
    throw error
  }
}

async function fetchUnicode(): Promise<readonly EmojiChoice[]> {
  const response = await fetch('/static/emoji.json', { credentials: 'same-origin', redirect: 'error' })
  const { code_to_names: all } = (await response.json()) as { code_to_names: Record<string, string[]> }
  return Object.entries(all).map(([code, names]) => ({ name: names[0] ?? code, code, type: 'unicode_emoji', names }))
}

const emojiOfRealm = ({ emoji }: RealmView): EmojiChoice[] =>
  [...emoji.values()]
    .filter(({ deactivated }) => !deactivated)
    .map(({ id, name }) => ({ name, code: id, type: 'realm_emoji', names: [name] }))

/** Codes by the name of their group in Unicode. */
export type EmojiGroups = Readonly<Record<string, readonly string[]>>

export async function loadEmojiGroups(): Promise<EmojiGroups> {
  const { groups } = await import('./on-demand/emoji-groups.ts')
  return Object.fromEntries(Object.entries(groups).map(([name, codes]) => [name, codes.split(' ')]))
}

/** Returns names that begin with the text first. Without a text, returns those of the group, or popular ones. */
export function findEmoji(
  all: readonly EmojiChoice[],
  text: string,
  group?: readonly string[],
): readonly EmojiChoice[] {
  const wanted = text.trim().toLowerCase().replaceAll(' ', '_')
  if (wanted === '') {
    const byCode = new Map(all.map((one) => [one.code, one]))
    if (group !== undefined) return group.flatMap((code) => byCode.get(code) ?? [])
    const popular = POPULAR.flatMap((code) => byCode.get(code) ?? [])
    return [...popular, ...all.filter(({ type }) => type === 'realm_emoji')]
  }
  const rank = ({ names }: EmojiChoice) =>
    names.some((name) => name === wanted) ? 0 : names.some((name) => name.startsWith(wanted)) ? 1 : 2
  return all
    .filter(({ names }) => names.some((name) => name.includes(wanted)))
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, FOUND_MAX)
}

/** Characters of a code such as `1f1e9-1f1ea`. */
export const characters = (code: string): string =>
  /^[0-9a-f]{2,6}(?:-[0-9a-f]{2,6})*$/.test(code)
    ? String.fromCodePoint(...code.split('-').map((one) => Math.min(Number.parseInt(one, 16), 0x10ffff)))
    : '?'

/** Null if the emoji is shown as characters. */
export function pictureOf({ emoji }: RealmView, type: string, code: string): string | null {
  if (type === 'zulip_extra_emoji') return '/static/generated/emoji/images/emoji/unicode/zulip.png'
  const source = type === 'realm_emoji' ? emoji.get(code)?.source_url : undefined
  return source === undefined ? null : ownMedia(source, location.origin)
}
