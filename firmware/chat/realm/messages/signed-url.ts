/**
 * URLs that serve one upload without authentication for a minute, while the account that requested them may read it. Contract section 1.2
 * (media), E131.
 */

import { createHmac } from 'node:crypto'
import { equalBytes } from '../../../crypto/seal.ts'
import { asPathId } from '../model/upload-path.ts'

const SIGNED_URL_SECONDS = 60
export const SIGNED_URL_PREFIX = '/user_uploads/temporary/'
const MAC_BYTES = 32

export interface UrlSigner {
  /** Returns an absolute path. */
  sign(pathId: string, userId: number, nowMs: number): string
  /** Returns null if the signature is wrong or expired. `rest`: the path after the prefix. */
  open(rest: string, nowMs: number): SignedFor | null
}

interface SignedFor {
  readonly pathId: string
  readonly userId: number
}

/** `key` need not outlive the process: after a restart, clients request new URLs. */
export function createUrlSigner(key: Uint8Array): UrlSigner {
  /** `terms`: expiry in Unix seconds, and the account's id. */
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

const encodePath = (pathId: string): string => pathId.split('/').map(encodeURIComponent).join('/')
