/** The page for browsers as endpoints, in every state and on trial: `/`, its scripts and style sheet, and the command `coffer`. */

import { hash } from 'node:crypto'
import { STATES } from '../../base/states.ts'
import { type Declaration, endpoint } from '../pipeline/endpoint.ts'

/** What the bundler has made of firmware/console and tools/coffer. */
export interface ConsoleFiles {
  html: string
  /** `name` is made of the contents, `<hash>.js`: `/console/<hash>.js` is the same for ever. */
  scripts: readonly { name: string; text: string }[]
  css: { name: string; text: string }
  command: string | null
}

/** Everything comes from this origin, nothing stands in line, and nobody may frame it. W3C CSP 3, Trusted Types. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), usb=()',
}

const NEWEST = 'no-cache'
const FOR_EVER = 'public, max-age=31536000, immutable'

const SCRIPT_TYPE = 'text/javascript'

/** With full paths: they stand outside the base path of the API. While `isOn` says no they are unknown. */
export function consoleDeclarations<S>(
  { html, scripts, css, command }: ConsoleFiles,
  isOn: (services: S) => boolean,
): Declaration<S>[] {
  const file = (path: string, type: string, cacheControl: string, summary: string, text: string): Declaration<S> => {
    const bytes = new TextEncoder().encode(text)
    const version = hash('sha256', bytes)
    return endpoint<S, unknown, unknown, unknown>({
      method: 'GET',
      path,
      summary,
      states: STATES,
      access: 'public',
      isOffered: isOn,
      version: () => version,
      headers: { ...HEADERS, 'cache-control': cacheControl },
      answers: { status: 200, types: [type] },
      handle: () => ({ status: 200, file: bytes, type }),
    })
  }
  return [
    file('/', 'text/html', NEWEST, 'The page for browsers', html),
    ...scripts.map(({ name, text }) => file(`/console/${name}`, SCRIPT_TYPE, FOR_EVER, 'A script of it', text)),
    file(`/console/${css.name}`, 'text/css', FOR_EVER, 'Its style sheet', css.text),
    ...(command === null
      ? []
      : [file('/console/coffer.mjs', SCRIPT_TYPE, NEWEST, 'The command of this version', command)]),
  ]
}
