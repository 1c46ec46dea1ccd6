/** Parts of the endpoints that use a key. CONTRACT.md, "Audit". */

import { CofferError } from '../../base/error.ts'
import { domainOf, OPERATIONAL, OPERATORS } from '../api/services.ts'
import { ANSWER, denied } from './answers.ts'
import { countItems, jsonBody } from './body.ts'
import { awaitKey, type OfKey } from './keys.ts'

/** Members of each declaration. */
export const KEY_USE = {
  method: 'POST',
  states: OPERATIONAL,
  access: OPERATORS,
  audit: 'use',
  prepare: awaitKey,
  body: jsonBody,
  answers: ANSWER,
  facts: countItems,
} as const

/** Throws unless the key's tags let the caller use it, with the reason. */
export function expectTags(
  request: OfKey & { address: string },
  name: string,
  action: 'sign' | 'encrypt' | 'decrypt',
): void {
  try {
    domainOf(request).keyUse.authorize(request, name, action)
  } catch (error) {
    throw error instanceof CofferError && error.code === 'forbidden' ? denied(error.message) : error
  }
}
