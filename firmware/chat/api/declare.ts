/** What handlers get, and the two ways to declare an endpoint. */

import type { Log } from '../../base/log.ts'
import type { Declaration } from '../pipeline/declaration.ts'
import type { Parameters } from '../pipeline/parameters.ts'
import type { OwnerNotices } from '../realm/bots/owner-notices.ts'
import type { Exports } from '../realm/export/exports.ts'
import type { UrlSigner } from '../realm/messages/signed-url.ts'
import type { Realm } from '../realm/model/realm.ts'
import type { User } from '../realm/model/records.ts'
import type { Passwords } from '../realm/organization/users/passwords.ts'

export interface Services {
  readonly realm: Realm
  readonly passwords: Passwords
  readonly log: Log
  /** URLs that serve one file to whoever has them, for a minute. */
  readonly uploadUrls: UrlSigner
  readonly exports: Exports
  /** Throws `RATE_LIMIT_HIT`: for keys that are given to whoever has signed in, which nobody else asks it for. */
  readonly expectBudget: (account: number) => void
  /** In a direct message, at most once an hour for each bot and kind of problem. */
  readonly tellBotOwner: OwnerNotices
  /** When this start was: `server_generation`. Seconds. */
  readonly generation: number
}

type NoParameters = Record<never, never>

/** In a list of all endpoints, where the types of one are of no matter. */
// biome-ignore lint/suspicious/noExplicitAny: each declaration was checked where it was made
export type AnyDeclaration = Declaration<Services, any, any, any>

/** An endpoint for whoever has an account: `me` is he. */
export const declare = <P extends Parameters = NoParameters, Q extends Parameters = NoParameters>(
  declaration: Declaration<Services, User, P, Q> & {
    who: 'sender' | 'webhook' | 'account' | 'human' | 'member' | 'moderator' | 'administrator' | 'owner'
  },
): AnyDeclaration => declaration

/** An endpoint that needs no account: `me` may be null. */
export const declareOpen = <P extends Parameters = NoParameters, Q extends Parameters = NoParameters>(
  declaration: Declaration<Services, User | null, P, Q> & { who: 'nobody' | 'anyone' },
): AnyDeclaration => declaration
