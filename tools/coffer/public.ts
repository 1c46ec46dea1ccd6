/** Public keys, from what the appliance shows of a key. */

import { fromBase64 } from '../../firmware/client/bytes.ts'
import { jwkOf, type PublicParts, sshLineOf } from '../../firmware/client/public-key.ts'
import type { Key } from '../../firmware/client/types.ts'

export function partsOf({ type, public: shown = {} }: Key): PublicParts {
  const { modulus, publicExponent, data } = shown
  return {
    type,
    ...(modulus && { modulus: fromBase64(modulus) }),
    ...(publicExponent && { publicExponent: fromBase64(publicExponent) }),
    ...(data && { data: fromBase64(data) }),
  }
}

export function jwkText(parts: PublicParts): string | null {
  const jwk = jwkOf(parts)
  return jwk === null ? null : JSON.stringify(jwk)
}

export const sshText = (parts: PublicParts, comment: string): string | null => sshLineOf(parts, comment)
