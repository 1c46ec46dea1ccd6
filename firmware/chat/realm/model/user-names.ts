/** Names and addresses of users and bots. Contract sections 2.2, 3.5 and 9. */

import { isName } from '../../base/characters.ts'

const NAME_CHARACTERS = [2, 100] as const
const ADDRESS_CHARACTERS_MAX = 254 // RFC 5321 section 4.5.3.1.3, without its brackets
const LOCAL_PART_CHARACTERS_MAX = 64 // RFC 5321 section 4.5.3.1.1
const SHORT_NAME_CHARACTERS_MAX = 60 // leaves room for `-bot` in the local part

/** Characters with a meaning in Markdown and mentions. */
const RESERVED = /[*`\\>"@]/

/** A mention may end in `|` and an id (`@**Name|7**`), so a name must not. */
const ENDS_LIKE_A_MENTION = /\|\d+$/

/** Returns the name as stored, trimmed and in Unicode NFC, or null if it is invalid. */
export function fullName(input: string): string | null {
  const name = input.normalize('NFC').trim()
  const [least, most] = NAME_CHARACTERS
  const length = [...name].length
  if (length < least || length > most) return null
  return !isName(name) || RESERVED.test(name) || ENDS_LIKE_A_MENTION.test(name) ? null : name
}

// A dot-string (RFC 5321 section 4.1.2) at a host of letters, digits and dashes.
const LOCAL_PART = /^[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~-]+(\.[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u
const HOST =
  /^(?=.{1,253}$)([\p{L}\p{N}]([\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?)(\.[\p{L}\p{N}]([\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?)*$/u

/** Returns the address as stored, or null if it is invalid. The service sends no mail to it. */
export function address(input: string): string | null {
  const text = input.normalize('NFC').trim()
  const at = text.lastIndexOf('@')
  const local = text.slice(0, at)
  if (at < 1 || text.length > ADDRESS_CHARACTERS_MAX || local.length > LOCAL_PART_CHARACTERS_MAX) return null
  return LOCAL_PART.test(local) && HOST.test(text.slice(at + 1)) ? text : null
}

/** Addresses are unique regardless of case. */
export const addressKey = (email: string): string => email.toLowerCase()

/** Returns the local part of a bot's address, or null if the short name is invalid. */
export function botLocalPart(shortName: string): string | null {
  const name = shortName.trim()
  if (name === '' || name.length > SHORT_NAME_CHARACTERS_MAX || !/^[A-Za-z0-9_.-]+$/.test(name)) return null
  const local = `${name}-bot`
  return LOCAL_PART.test(local) ? local : null
}
