/** Foreign accounts that a profile may link to. Contract section 2.5, type 7. */

import { badRequest } from '../../../base/error.ts'

/** `realm_default_external_accounts`: accounts for which clients have icons. */
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

/** Throws `BAD_REQUEST` unless the pattern is an http or https URL with one placeholder. */
export function expectAccountPattern(pattern: string): void {
  if (pattern.split(NAME).length !== 2)
    throw badRequest("username should appear exactly once in pattern: '%(username)s'")
  const url = URL.parse(pattern.replace(NAME, 'username'))
  if (url === null || !/^https?:$/.test(url.protocol) || pattern.length > PATTERN_CHARACTERS_MAX)
    throw badRequest('url_pattern is not a URL')
}
