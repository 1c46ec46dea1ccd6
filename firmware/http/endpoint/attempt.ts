import type { Endpoint } from './endpoint.ts'

/** A request as the audit log sees it. The checks fill in the members one after another. */
export interface Attempt<E extends Endpoint, Caller> {
  readonly address: string
  endpoint?: E
  /** Path parameters as sent: percent-decoded, not validated. */
  params?: Readonly<Record<string, string>>
  /** User named by the credentials. `caller` is set only if the credentials are correct. */
  claimed?: string
  caller?: Caller
  isAuthorized: boolean
}
