/** Accounts elsewhere that a profile may link. Contract section 2.5, type 7. */

import { badRequest } from '../../../base/error.ts'

/** `realm_default_external_accounts`: those that clients have pictures for. */
export const DEFAULT_ACCOUNTS = {
  twitter: {
    text: 'Twitter',
    url_pattern: 'https://twitter.com/%(username)s',
    name: 'Twitter username',
    hint: '',
  },
  github: {
    text: 'GitHub',
    url_pattern: 'https://github.com/%(username)s',
    name: 'GitHub username',
    hint: '',
  },
} as const

const NAME = '%(username)s'
const PATTERN_CHARACTERS_MAX = 1024

/** Throws `BAD_REQUEST` unless it is the address of a page in which one name has its place. */
export function expectAccountPattern(pattern: string): void {
  if (pattern.split(NAME).length !== 2)
    throw badRequest("username should appear exactly once in pattern: '%(username)s'")
  const url = URL.parse(pattern.replace(NAME, 'username'))
  if (url === null || !/^https?:$/.test(url.protocol) || pattern.length > PATTERN_CHARACTERS_MAX)
    throw badRequest('url_pattern is not a URL')
}
