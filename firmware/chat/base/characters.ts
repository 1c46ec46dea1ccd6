/**
 * Characters allowed in names and texts: no control characters, noncharacters or bidirectional controls (Unicode Standard Annex 9, section
 * 2); names also have no line breaks. Contract section 1.1.
 */

import { z } from 'zod'
import { badRequest } from './error.ts'

const INVALID = '\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Noncharacter_Code_Point}\\u202A-\\u202E\\u2066-\\u2069'
const IN_NAME = new RegExp(`[${INVALID}]`, 'u')
const IN_TEXT = new RegExp(`(?![\\t\\n\\r])[${INVALID}]`, 'u')

export const isName = (name: string): boolean => !IN_NAME.test(name)

/** Checks a single line. Throws a `BAD_REQUEST` with the position of an invalid character; `what` is the parameter's name in the API. */
export const expectName = (name: string, what: string): string => expectNone(IN_NAME, name, what)

/** Like `expectName`, but allows line breaks. */
export const expectText = (text: string, what: string): string => expectNone(IN_TEXT, text, what)

/** The message is Zulip's, because clients may look for it. */
function expectNone(invalid: RegExp, text: string, what: string): string {
  const message = messageOf(invalid, text, ` in ${what}`)
  if (message !== null) throw badRequest(message)
  return text
}

/** For strings in JSON parameters, where the error names the member. */
export const nameString = () => z.string().check(having(IN_NAME))
export const textString = () => z.string().check(having(IN_TEXT))

const having =
  (invalid: RegExp) =>
  ({ value, issues }: z.core.ParsePayload<string>): void => {
    const message = messageOf(invalid, value.trim(), '')
    if (message !== null) issues.push({ code: 'custom', input: value, message })
  }

function messageOf(invalid: RegExp, text: string, where: string): string | null {
  const found = invalid.exec(text)
  return found && `Invalid character${where}, at position ${[...text.slice(0, found.index)].length + 1}`
}
