/**
 * A request that was allowed when it arrived must still be allowed when it acts: a passphrase takes a tenth of a second to
 * derive, a key minutes to find, a backup hours to arrive. Contract section 7.1.
 */

import { AsyncLocalStorage } from 'node:async_hooks'

/** Throws what the request would be refused with if it came now. */
export type AuthorizationCheck = () => void

interface AuthorizedRequest {
  readonly check: AuthorizationCheck
  readonly user: string
  readonly conditions: () => void
}

const current = new AsyncLocalStorage<AuthorizedRequest>()

/**
 * Checks, and acts in the same turn; whatever is awaited on the way, every change that follows from it is checked again. `user` shares the
 * crypto pool with others in turns. `conditions` throws what the request is refused with if its conditions do not hold now.
 */
export function runAuthorized<T>(check: AuthorizationCheck, act: () => T, user = '', conditions = (): void => {}): T {
  check()
  return current.run({ check, user, conditions }, act)
}

/** Empty in a request of nobody, and outside of requests. */
export const requestingUser = (): string => current.getStore()?.user ?? ''

/**
 * Call it in the same turn of the event loop as the change: where the store, the boot manager and the states of the appliance
 * are entered. Passes for code that acts for no request, as the console does.
 */
export function assertAuthorized(): void {
  current.getStore()?.check()
}

/**
 * As `assertAuthorized`, for the conditions of the request (RFC 9110 section 13): where one change of a resource with an etag is decided
 * upon. Afterwards they need not hold any more.
 */
export function assertConditions(): void {
  current.getStore()?.conditions()
}

/** For what the appliance does by itself once a change was made, which may have ended the request. */
export const runDetached = <T>(act: () => T): T => current.exit(act)

/** For a task that somebody else will begin: it stays that of the request it was made for. */
export const bindToRequest = <T>(task: () => T): (() => T) => AsyncLocalStorage.bind(task)
