/** Static files for clients. Contract sections 3.9 and 4.2.2, `server_emoji_data_url`. */

import { bodyReply } from '../../http/reply.ts'
import { emojiNames, ZULIP_EMOJI_PATH } from '../data/emoji.ts'
import { raw } from '../pipeline/envelope.ts'
import { text } from '../pipeline/parameters.ts'
import { defaultIcon, speechBubble } from '../realm/objects/static-pictures.ts'
import { DEFAULT_ICON_PATH } from '../realm/organization/settings/pictures.ts'
import { type AnyDeclaration, declareOpen } from './declare.ts'

const HEADERS = { 'cache-control': 'public, max-age=86400', 'x-content-type-options': 'nosniff' }

const emojiData = JSON.stringify({ code_to_names: Object.fromEntries(emojiNames()) })

/** Shown until the organization uploads a logo. */
const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="25" viewBox="0 0 100 25">' +
  '<text x="2" y="19" font-family="sans-serif" font-size="20" fill="#777">Coffer</text></svg>'

const file = (path: string, body: string | Uint8Array<ArrayBuffer>, type: string): AnyDeclaration =>
  declareOpen({
    method: 'GET',
    path,
    who: 'nobody',
    isMedia: true,
    parameters: { version: text().optional() },
    handle: () => raw(bodyReply(200, body, type, HEADERS)),
  })

export const staticDeclarations: readonly AnyDeclaration[] = [
  file('/static/emoji.json', emojiData, 'application/json; charset=utf-8'),
  file('/static/logo.svg', LOGO, 'image/svg+xml'),
  file(ZULIP_EMOJI_PATH, speechBubble(), 'image/png'),
  file(DEFAULT_ICON_PATH, defaultIcon(), 'image/png'),
]
