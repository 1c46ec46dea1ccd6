/** Seals secrets a second time within the encrypted database: keys of bots, tokens. A leaked page then does not reveal them. */

import { seal, unseal } from '../../../crypto/seal.ts'
import type { Realm } from './realm.ts'

/** Returns base64. */
export const sealText = (realm: Realm, text: string): string =>
  Buffer.from(seal(realm.secretsKey, Buffer.from(text), realm.random)).toString('base64')

/** Returns null if the text was sealed with another key. */
export function openText(realm: Realm, sealed: string): string | null {
  const text = unseal(realm.secretsKey, Buffer.from(sealed, 'base64'))
  return text && Buffer.from(text).toString()
}
