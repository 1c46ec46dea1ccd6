/** An endpoint as data: its parameters, its callers, and a short handler. */

import type { Endpoint } from '../../http/endpoint/endpoint.ts'
import type { Exchange } from '../../http/server/exchange.ts'
import type { ErrorFields } from '../base/error.ts'
import type { Answer } from './envelope.ts'
import type { Parameters, ParameterValues } from './parameters.ts'
import type { SentFile } from './raw-parameters.ts'

/**
 * `nobody`: credentials are ignored. `anyone`: credentials are optional. `sender`: any account, including bots that can only send.
 * `webhook`: a bot with its key in the query, because services set no header. Contract section 0, Who.
 */
export type Who =
  | 'nobody'
  | 'anyone'
  | 'sender'
  | 'webhook'
  | 'account'
  | 'human'
  | 'member'
  | 'moderator'
  | 'administrator'
  | 'owner'

export interface Credential {
  readonly id: number
  /** True for the cookie of a page: contract section 1.2.1. */
  readonly isSession: boolean
}

/** Data of a call for the appliance's audit log. Contract section 1.6. */
export interface Audit {
  /** Record only calls with one of these parameters. Default: every call. */
  readonly parameters?: readonly string[]
  /** Numeric parameters that are recorded in addition to those of the path. */
  readonly facts?: readonly string[]
  /**
   * Set if the call gives a key to an unauthenticated user. The answer has the user's `email`; the parameter `claim` holds the claimed one.
   */
  readonly signsIn?: { readonly claim: string | null }
}

/** `S`: services; `Me`: the caller, or null where credentials are optional. */
export interface Declaration<S, Me, P extends Parameters = Parameters, Q extends Parameters = Parameters>
  extends Endpoint {
  /** Relative to the base path; `:name` for members of `segments`. */
  readonly path: string
  readonly who: Who
  /** Path parameters. A malformed one answers 404. */
  readonly segments?: Q
  readonly parameters?: P
  /** True for small files of a page. Unauthenticated requests for them have a larger rate limit of their own per address. */
  readonly isMedia?: boolean
  /** Bound of the file in a multipart body. The handler gets the first one. */
  readonly fileBytesMax?: number
  /** True if the handler reads the body itself; it has no parameters. */
  readonly takesBody?: boolean
  /** More members of error answers, from the path parameters as sent. */
  readonly errorFields?: (path: Readonly<Record<string, string>>, message: string) => ErrorFields
  /**
   * True for calls that delete, complete something or sign in. They may use the disk reserve, as every GET and DELETE may. Other calls are
   * refused when the disk is full.
   */
  readonly usesReserve?: boolean
  /** True for calls that need much CPU time and come in bursts. They wait in a queue. Contract section 1.8. */
  readonly isExpensive?: boolean
  /** Required for changes of accounts, roles, keys and organization settings. */
  readonly audit?: Audit
  readonly handle: (request: Request<S, Me, P, Q>) => Answer | undefined | Promise<Answer | undefined>
}

/** Services are members of their own: `{ realm, me, input }`. */
export type Request<S, Me, P extends Parameters = Parameters, Q extends Parameters = Parameters> = S & {
  readonly me: Me
  /** Null without credentials. */
  readonly credential: Credential | null
  readonly input: ParameterValues<P>
  readonly path: ParameterValues<Q>
  /** Names of the parameters that were sent, as declared, aliases included. */
  readonly sent: ReadonlySet<string>
  /** Undefined without a file. Read it before the handler ends. */
  readonly file: SentFile | undefined
  /** Empty unless `takesBody`. */
  readonly body: Uint8Array
  /** Name of the client: `User-Agent` up to `/`, at most 30 characters. */
  readonly client: string
  /** The older level that the client declares; null for the current one. Contract section 8. */
  readonly level: number | null
  readonly exchange: Exchange
  /** Throws once the caller is no longer authorized. `realm.transaction` calls it. */
  readonly check: () => void
  /** Queues `act` like an expensive call and checks the caller again before it runs. For handlers that are expensive only at times. */
  readonly inTurn: <T>(act: () => T) => Promise<T>
}
