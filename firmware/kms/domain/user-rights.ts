/** Rights to read and change users. Contract sections 3.3 and 7.3. */

import { CofferError } from '../../base/error.ts'
import { namespaceOf } from './identifiers.ts'
import type { Namespaces } from './namespaces.ts'
import type { Caller } from './roles.ts'

/** Authorizes reading a user or the user's tags. Throws `forbidden`. */
export function authorizeRead(caller: Caller, id: string): void {
  if (caller.role !== 'Administrator') authorizeSelf(caller, id)
  else if (caller.namespace !== '' && caller.namespace !== namespaceOf(id)) throw otherNamespace()
}

/** Authorizes creating, deleting or changing a user. An existing namespace is managed only from inside. Throws `forbidden`. */
export function authorizeChange(caller: Caller, id: string, namespaces: Pick<Namespaces, 'exists'>): void {
  const namespace = namespaceOf(id)
  if (caller.role !== 'Administrator') authorizeSelf(caller, id)
  else if (caller.namespace === namespace) return
  else if (caller.namespace !== '' || namespaces.exists(namespace)) throw otherNamespace()
}

const otherNamespace = (): CofferError =>
  new CofferError('forbidden', "Only users with role Administrator in the user's namespace may do this")

function authorizeSelf(caller: Caller, id: string): void {
  if (caller.userId !== id)
    throw new CofferError('forbidden', 'Only users with role Administrator may do this to another account')
}
