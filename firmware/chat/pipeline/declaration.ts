/** An endpoint as data: what it takes, who may call it, and a short handler. */

import type { Endpoint } from '../../http/endpoint/endpoint.ts'
import type { Exchange } from '../../http/server/exchange.ts'
import type { ErrorFields } from '../base/error.ts'
import type { Answer } from './envelope.ts'
import type { Parameters, ParameterValues } from './parameters.ts'
import type { SentFile } from './sent.ts'

/**
 * `nobody`: credentials mean nothing. `anyone`: they are looked at where they are sent. `sender`: an account, those included
 * that can do nothing but send. `webhook`: a bot that shows its key in the query, since services set no header. Contract section 0, Who.
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

/** The key or session that was shown. */
export interface Credential {
  readonly id: number
  /** In the cookie of a page: contract section 1.2.1. */
  readonly isSession: boolean
}

/** What of an endpoint goes to the audit log of the appliance. Contract section 1.6. */
export interface Audit {
  /** Only calls with one of these; without it, every call. */
  readonly parameters?: readonly string[]
  /** Parameters that are numbers, told beside those of the path. */
  readonly facts?: readonly string[]
  /** It gives a key to whoever has no account yet: the answer has the `email`, and this parameter, if there is one, claims it. */
  readonly signsIn?: { readonly claim: string | null }
}

/** `S`: services; `Me`: the caller, or null where there need be none. */
export interface Declaration<S, Me, P extends Parameters = Parameters, Q extends Parameters = Parameters>
  extends Endpoint {
  /** Below the base path; `:name` for what `segments` reads. */
  readonly path: string
  readonly who: Who
  /** Parts of the path; what cannot be read is no path: 404. */
  readonly segments?: Q
  readonly parameters?: P
  /** One of many small files of a page: without credentials it has an address's greater share, and no other takes from that. */
  readonly isMedia?: boolean
  /** The first part of a multipart body that is a file comes to the handler, of at most so many bytes. */
  readonly fileBytesMax?: number
  /** The body has no parameters: it comes to the handler as it is. */
  readonly takesBody?: boolean
  /** Members that error answers have besides, by the parts of the path as they were sent. */
  readonly errorFields?: (path: Readonly<Record<string, string>>, message: string) => ErrorFields
  /**
   * It deletes, settles something or signs in: it may use the reserve of the disk, as every GET and DELETE may. Others are refused
   * while there is no room.
   */
  readonly usesReserve?: boolean
  /** Takes much processor time and comes in crowds: it waits until it is its turn. Contract section 1.8. */
  readonly isExpensive?: boolean
  /** Every call is told of that changes an account, a role, a key or what is set of the organization. */
  readonly audit?: Audit
  readonly handle: (request: Request<S, Me, P, Q>) => Answer | undefined | Promise<Answer | undefined>
}

/** Services come in as members of their own: `{ realm, me, input }`. */
export type Request<S, Me, P extends Parameters = Parameters, Q extends Parameters = Parameters> = S & {
  readonly me: Me
  /** Null without credentials. */
  readonly credential: Credential | null
  readonly input: ParameterValues<P>
  readonly path: ParameterValues<Q>
  /** Which parameters were sent, by their declared names or aliases. */
  readonly sent: ReadonlySet<string>
  /** Undefined when none was sent. To be read before the handler ends. */
  readonly file: SentFile | undefined
  /** Empty but for `takesBody`. */
  readonly body: Uint8Array
  /** Of the program that calls: `User-Agent` up to `/`, at most 30 characters. */
  readonly client: string
  /** The older level that the client was written for; null: the one of now. Contract section 8. */
  readonly level: number | null
  readonly exchange: Exchange
  /** Throws when the caller is admitted no longer. `realm.transaction` asks by itself. */
  readonly check: () => void
  /** Waits as an expensive call does, and checks the caller's rights after the wait. For a handler that is expensive at times. */
  readonly inTurn: <T>(act: () => T) => Promise<T>
}
