/** Services of handlers, and the two ways to declare an endpoint. */

import type { Log } from '../../base/log.ts'
import type { WebPush } from '../outgoing/web-push.ts'
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
  /** Signs URLs that serve one file without credentials for a minute. */
  readonly uploadUrls: UrlSigner
  readonly exports: Exports
  readonly webPush: WebPush
  /** Throws `RATE_LIMIT_HIT`. Only endpoints that give out keys after a sign-in check this budget. */
  readonly expectBudget: (account: number) => void
  /** Sends a direct message, at most once an hour for each bot and kind of problem. */
  readonly tellBotOwner: OwnerNotices
  /** Time of this start in seconds: `server_generation`. */
  readonly generation: number
}

type NoParameters = Record<never, never>

/** Erases the parameter types, for lists of endpoints. */
// biome-ignore lint/suspicious/noExplicitAny: each declaration was checked where it was made
export type AnyDeclaration = Declaration<Services, any, any, any>

export const declare = <P extends Parameters = NoParameters, Q extends Parameters = NoParameters>(
  declaration: Declaration<Services, User, P, Q> & {
    who: 'sender' | 'webhook' | 'account' | 'human' | 'member' | 'moderator' | 'administrator' | 'owner'
  },
): AnyDeclaration => declaration

export const declareOpen = <P extends Parameters = NoParameters, Q extends Parameters = NoParameters>(
  declaration: Declaration<Services, User | null, P, Q> & { who: 'nobody' | 'anyone' },
): AnyDeclaration => declaration
