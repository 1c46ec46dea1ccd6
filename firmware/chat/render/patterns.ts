/** Pieces of regular expressions that several stages share. `\w` and `\s` are those of Unicode, as upstream has them. */

/** Letters, digits and `_`; needs the flag `u`. */
export const WORD = '[\\p{L}\\p{N}_]'

/** What may stand before a mention or the name of a channel: the start, a space, or one of these. */
export const BEFORE_MENTION = `(?<![^\\s'"({[/<])`

export const USER_MENTION = `${BEFORE_MENTION}@(_?)\\*\\*([^*]+)\\*\\*`

export const GROUP_MENTION = `${BEFORE_MENTION}@(_?)\\*([^*]+)\\*`
