/** Where alerts are mailed: `/config/mail`, readable in every state. Contract section 4.7. */

import { CofferError } from '../base/error.ts'

export const MAIL_SECURITY = ['tls', 'starttls', 'none'] as const

export interface MailSettings {
  /** Host name or address; null: nothing is mailed. */
  readonly server: string | null
  readonly port: number
  readonly security: (typeof MAIL_SECURITY)[number]
  readonly user: string | null
  readonly password?: string
  readonly from: string | null
  readonly to: readonly string[]
  /** Ids of the alerts that are mailed; null for all. */
  readonly alerts: readonly string[] | null
}

/** Members that are absent stay as they are. A password of null is removed. */
export type MailChange = Partial<Omit<MailSettings, 'password'>> & { password?: string | null }

const SUBMISSIONS_PORT = 465 // RFC 8314 section 7.3

export const DEFAULT_MAIL: MailSettings = {
  server: null,
  port: SUBMISSIONS_PORT,
  security: 'tls',
  user: null,
  from: null,
  to: [],
  alerts: null,
}

/** A password stays with the same server, port and user only, so that no other server learns it. Throws `invalid` for what does not go together. */
export function changeMail(before: MailSettings, { password: given, ...others }: MailChange): MailSettings {
  const { password: former, ...rest } = before
  const after = { ...rest, ...others } // in one order, so that texts can be compared
  const isSame = (['server', 'port', 'user'] as const).every((name) => before[name] === after[name])
  const password = given === undefined && isSame ? former : given
  if (password != null && after.user === null) throw new CofferError('invalid', 'A password needs a user')
  if (after.server !== null && (after.from === null || after.to.length === 0))
    throw new CofferError('invalid', 'A server needs from and to')
  return { ...after, ...(password != null && { password }) }
}
