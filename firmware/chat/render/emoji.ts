/** Emoji as names, emoticons and characters. Contract 6.2. */

import { emojiCode, emojiName, ZULIP_EMOJI_PATH } from '../data/emoji.ts'
import { type Element, element } from './element.ts'
import { type Pattern, pattern } from './inline.ts'
import type { Names } from './names.ts'
import { WORD } from './patterns.ts'

const EMOTICONS: Record<string, string> = {
  ':)': 'smile',
  '(:': 'smile',
  ':(': 'frown',
  '<3': 'heart',
  ':|': 'neutral',
  ':/': 'confused',
  ';)': 'wink',
  ':D': 'grinning',
  ':o': 'open_mouth',
  ':O': 'open_mouth',
  ':p': 'stuck_out_tongue',
  ':P': 'stuck_out_tongue',
}

/** Characters that may adjoin an emoticon. */
const BESIDE = `,.;?!()[\\] "'\\n\\t`

/** A possible emoji by Unicode Technical Standard 51, section 1.4.9. */
const UNIT = '\\p{Emoji}(?:\\p{Emoji_Modifier}|\\uFE0F\\u20E3?|[\\u{E0020}-\\u{E007E}]+\\u{E007F})?'
const POSSIBLE_EMOJI = new RegExp(`\\p{RI}\\p{RI}|${UNIT}(?:\\u200D(?:\\p{RI}\\p{RI}|${UNIT}))*`, 'gu')

/** Digits, arrows and other characters that are text unless a variation selector follows. */
const TEXT_PRESENTATION = /^\P{Emoji_Presentation}\u20E3?$/u

export function namedEmoji(names: Names): Pattern {
  return pattern(new RegExp(`:((?:${WORD}|[+-])+):`, 'gu'), ':', ([typed, name]) => {
    const custom = names.emoji(name!)
    if (custom !== undefined) return image(custom, typed)
    if (name === 'zulip') return image(ZULIP_EMOJI_PATH, typed)
    const code = emojiCode(name!)
    return code === undefined ? null : character(code, typed)
  })
}

export const emoticons: Pattern = pattern(
  new RegExp(`(?<![^${BESIDE}])(?:${Object.keys(EMOTICONS).map(escaped).join('|')})(?![^${BESIDE}])`, 'g'),
  '',
  ([typed]) => {
    const name = EMOTICONS[typed]!
    return character(emojiCode(name)!, `:${name}:`)
  },
)

export const unicodeEmoji: Pattern = (source, found) => {
  // Quick test: every emoji contains a character from U+00A9 on.
  return /[\u{A9}-\u{10FFFF}]/u.test(source) ? unicodeEmojiPattern(source, found) : source
}

const unicodeEmojiPattern = pattern(POSSIBLE_EMOJI, '', ([typed]) => {
  if (TEXT_PRESENTATION.test(typed)) return null
  const code = [...typed.replaceAll('\uFE0F', '')]
    .map((character) => character.codePointAt(0)!.toString(16).padStart(4, '0'))
    .join('-')
  const name = emojiName(code)
  return name === undefined ? null : character(code, `:${name}:`)
})

function character(code: string, text: string): Element {
  const title = titleOf(text)
  return element('span', { 'aria-label': title, class: `emoji emoji-${code}`, role: 'img', title }, text)
}

function image(src: string, text: string): Element {
  return element('img', { alt: text, class: 'emoji', src, title: titleOf(text) })
}

function titleOf(text: string): string {
  return text.slice(1, -1).replaceAll('_', ' ')
}

function escaped(text: string): string {
  return text.replace(/[()|/]/g, '\\$&')
}
