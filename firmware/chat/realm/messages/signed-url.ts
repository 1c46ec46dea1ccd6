/** URLs that serve one upload to any client for a minute, while the account that asked for them may read it. Contract 1.2 (media), E131. */

import { createHmac } from 'node:crypto'
import { equalBytes } from '../../../crypto/seal.ts'
import { asPathId } from '../model/upload-path.ts'

const SIGNED_URL_SECONDS = 60
export const SIGNED_URL_PREFIX = '/user_uploads/temporary/'
const MAC_BYTES = 32

export interface UrlSigner {
  /** A path at this server's root. */
  sign(pathId: string, userId: number, nowMs: number): string
  /** Returns null for a wrong signature and after the time is over. `rest` follows the prefix. */
  open(rest: string, nowMs: number): SignedFor | null
}

interface SignedFor {
  readonly pathId: string
  readonly userId: number
}

/** `key` need not outlive the process: a URL of before a restart is asked for anew. */
export function createUrlSigner(key: Uint8Array): UrlSigner {
  /** `terms` is when the URL ends, in seconds, and the id of the account. */
  const macOf = (terms: string, pathId: string): Buffer =>
    createHmac('sha256', key).update(`${terms}\n${pathId}`).digest()
  return {
    sign(pathId, userId, nowMs) {
      const terms = `${Math.floor(nowMs / 1000) + SIGNED_URL_SECONDS}-${userId}`
      return `${SIGNED_URL_PREFIX}${terms}/${macOf(terms, pathId).toString('base64url')}/${encodePath(pathId)}`
    },
    open(rest, nowMs) {
      const [, terms = '', expiry = '', userId = '', mac = '', path = ''] =
        /^((\d{1,12})-(\d{1,12}))\/([\w-]{43})\/(.+)$/.exec(rest) ?? []
      const pathId = asPathId(path)
      if (pathId === null) return null
      const input = new Uint8Array(Buffer.from(mac, 'base64url'))
      if (input.length !== MAC_BYTES || !equalBytes(input, macOf(terms, pathId))) return null
      return Number(expiry) * 1000 >= nowMs ? { pathId, userId: Number(userId) } : null
    },
  }
}

/** For use in a URL, slashes kept. */
const encodePath = (pathId: string): string => pathId.split('/').map(encodeURIComponent).join('/')
