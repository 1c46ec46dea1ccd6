/** Texts that should not lie open even in an opened page of the database: keys of bots, tokens. Design 4. */

import { seal, unseal } from '../../../crypto/seal.ts'
import type { Realm } from './realm.ts'

/** In base64. */
export const sealText = (realm: Realm, text: string): string =>
  Buffer.from(seal(realm.secretsKey, Buffer.from(text), realm.random)).toString('base64')

/** Null for what another key has sealed. */
export function openText(realm: Realm, sealed: string): string | null {
  const text = unseal(realm.secretsKey, Buffer.from(sealed, 'base64'))
  return text && Buffer.from(text).toString()
}
