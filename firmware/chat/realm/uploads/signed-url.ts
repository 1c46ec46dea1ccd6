/** URLs that serve one upload to whoever has them, for a minute: contract 1.2 (media), E131. */

import { createHmac } from 'node:crypto'
import { equalBytes } from '../../../crypto/seal.ts'
import { asPathId } from './path.ts'

export const SIGNED_URL_SECONDS = 60
export const SIGNED_URL_PREFIX = '/user_uploads/temporary/'
const MAC_BYTES = 32

export interface UrlSigner {
  /** A path at this server's root. */
  sign(pathId: string, nowMs: number): string
  /** The path of the upload; null when the signature is another's or its time is over. `rest` follows the prefix. */
  open(rest: string, nowMs: number): string | null
}

/** `key` need not outlive the process: a URL of before a restart is asked for anew. */
export function createUrlSigner(key: Uint8Array): UrlSigner {
  const macOf = (expiry: string, pathId: string): Buffer =>
    createHmac('sha256', key).update(`${expiry}\n${pathId}`).digest()
  return {
    sign(pathId, nowMs) {
      const expiry = String(Math.floor(nowMs / 1000) + SIGNED_URL_SECONDS)
      return `${SIGNED_URL_PREFIX}${expiry}/${macOf(expiry, pathId).toString('base64url')}/${encodePath(pathId)}`
    },
    open(rest, nowMs) {
      const [, expiry = '', mac = '', path = ''] = /^(\d{1,12})\/([\w-]{43})\/(.+)$/.exec(rest) ?? []
      const pathId = asPathId(path)
      if (pathId === null) return null
      const given = new Uint8Array(Buffer.from(mac, 'base64url'))
      if (given.length !== MAC_BYTES || !equalBytes(given, macOf(expiry, pathId))) return null
      return Number(expiry) * 1000 >= nowMs ? pathId : null
    },
  }
}

/** For use in a URL, slashes kept. */
export const encodePath = (pathId: string): string => pathId.split('/').map(encodeURIComponent).join('/')
