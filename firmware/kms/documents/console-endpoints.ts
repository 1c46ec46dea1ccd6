/** Serves the web console (`/`, scripts and style sheet) and the CLI `coffer`, in every state and on trial. */

import { hash } from 'node:crypto'
import { STATES } from '../../base/states.ts'
import { FOR_EVER, NEWEST, pageHeaders } from '../../http/page-headers.ts'
import { type Declaration, endpoint } from '../pipeline/endpoint.ts'

/** Output of the bundler for firmware/console and tools/coffer. */
export interface ConsoleFiles {
  html: string
  /** `name` is `<hash>.js`, made of the content, so `/console/<hash>.js` never changes. */
  scripts: readonly { name: string; text: string }[]
  css: { name: string; text: string }
  command: string | null
}

const HEADERS = pageHeaders({ 'img-src': "'self' data:", 'connect-src': "'self'" })

const SCRIPT_TYPE = 'text/javascript'

/** Endpoints with full paths, outside the API's base path. They are unknown while `isOn` returns false. */
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
