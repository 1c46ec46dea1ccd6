/** Fragments of regular expressions that several stages share. `\w` and `\s` stand for Unicode's classes, as in Zulip. */

/** Letters, digits and `_`. Needs the flag `u`. */
export const WORD = '[\\p{L}\\p{N}_]'

/** Asserts the start, a space, or one of some characters before a mention or a channel. */
export const BEFORE_MENTION = `(?<![^\\s'"({[/<])`

export const USER_MENTION = `${BEFORE_MENTION}@(_?)\\*\\*([^*]+)\\*\\*`

export const GROUP_MENTION = `${BEFORE_MENTION}@(_?)\\*([^*]+)\\*`
