/** Unicode emoji by name and by code: hexadecimal code points joined by `-`, without variation selectors. */

import data from './emoji.json' with { type: 'json' }

/** Path of `:zulip:`, the only emoji without a character. Clients have the path built in. */
export const ZULIP_EMOJI_PATH = '/static/generated/emoji/images/emoji/unicode/zulip.png'

const namesByCode = new Map(Object.entries(data.emoji).map(([code, names]) => [code, names.split(' ')]))
const codesByName = new Map([...namesByCode].flatMap(([code, names]) => names.map((name) => [name, code] as const)))

export function emojiCode(name: string): string | undefined {
  return codesByName.get(name)
}

export function emojiName(code: string): string | undefined {
  return namesByCode.get(code)?.[0]
}

/** All names by code, the canonical one first, as served in `server_emoji_data_url`. */
export function emojiNames(): ReadonlyMap<string, readonly string[]> {
  return namesByCode
}
