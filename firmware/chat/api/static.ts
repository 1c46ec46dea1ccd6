/** Files that clients fetch beside the API. Contract section 4.2.2, `server_emoji_data_url`. */

import { bodyReply } from '../../http/reply.ts'
import { emojiNames } from '../data/emoji.ts'
import { raw } from '../pipeline/envelope.ts'
import { type AnyDeclaration, declareOpen } from './declare.ts'

const HEADERS = { 'cache-control': 'public, max-age=86400', 'x-content-type-options': 'nosniff' }

const emojiData = JSON.stringify({ code_to_names: Object.fromEntries(emojiNames()) })

/** Until the organisation has one of its own. */
const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="25" viewBox="0 0 100 25">' +
  '<text x="2" y="19" font-family="sans-serif" font-size="20" fill="#777">Coffer</text></svg>'

const file = (path: string, body: string, type: string): AnyDeclaration =>
  declareOpen({
    row: 'static',
    method: 'GET',
    path,
    who: 'nobody',
    isMedia: true,
    handle: () => raw(bodyReply(200, body, type, HEADERS)),
  })

export const staticDeclarations: readonly AnyDeclaration[] = [
  file('/static/emoji.json', emojiData, 'application/json; charset=utf-8'),
  file('/static/logo.svg', LOGO, 'image/svg+xml'),
]
