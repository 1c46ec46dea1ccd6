import type { Endpoint } from './endpoint.ts'

/** A request as an audit log sees it: filled in as it passes the checks. */
export interface Attempt<E extends Endpoint, Caller> {
  readonly address: string
  /** Present once the request is one of an endpoint. */
  endpoint?: E
  /** Of the path, as sent: percent-decoded and not checked. */
  params?: Readonly<Record<string, string>>
  /** The user that credentials name; whether they are right, `caller` tells. */
  claimed?: string
  caller?: Caller
  /** `authorize` was passed. */
  isAuthorized: boolean
}
