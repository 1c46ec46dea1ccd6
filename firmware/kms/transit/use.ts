import { CofferError } from '../../base/error.ts'
import { domainOf } from '../api/services.ts'
import { denied } from './answers.ts'
import type { OfKey } from './keys.ts'

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
