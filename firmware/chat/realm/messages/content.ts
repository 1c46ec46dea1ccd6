/** Validation of message content. Contract sections 3.2.1 and 9. */

import { badRequest } from '../../base/error.ts'

const CONTENT_LENGTH_MAX = 10_000 // code points
const TRUNCATED = '\n[message truncated]'

/** Returns the content as stored, truncated and without trailing spaces. Throws `BAD_REQUEST` if it is empty. */
export function checkedContent(sent: string): string {
  const content = sent.trimEnd()
  if (content.trim() === '') throw badRequest('Message must not be empty')
  if (content.length <= CONTENT_LENGTH_MAX) return content
  const characters = [...content]
  if (characters.length <= CONTENT_LENGTH_MAX) return content
  return characters.slice(0, CONTENT_LENGTH_MAX - TRUNCATED.length).join('') + TRUNCATED
}
