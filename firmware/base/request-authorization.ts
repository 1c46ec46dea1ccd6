/**
 * What a request was allowed when it came, it must still be allowed when it acts: a passphrase takes a tenth of a second to
 * derive, a key minutes to find, a backup hours to arrive. Contract section 7.1.
 */

import { AsyncLocalStorage } from 'node:async_hooks'

/** Throws what the request would be refused with if it came now. */
export type AuthorizationCheck = () => void

const current = new AsyncLocalStorage<AuthorizationCheck>()

/** Checks, and acts in the same turn; whatever is awaited on the way, every change that follows from it is checked again. */
export function runAuthorized<T>(check: AuthorizationCheck, act: () => T): T {
  check()
  return current.run(check, act)
}

/**
 * Called where changes are made, in the very turn: at the door of the store, of the boot manager and of the appliance's
 * states. Whoever acts for no request, as the console does, passes.
 */
export function assertAuthorized(): void {
  current.getStore()?.()
}

/** For what the appliance does by itself once a change was made, which may have ended the request. */
export const runDetached = <T>(act: () => T): T => current.exit(act)

/** For a task that somebody else will begin: it stays that of the request it was made for. */
export const bindToRequest = <T>(task: () => T): (() => T) => AsyncLocalStorage.bind(task)
