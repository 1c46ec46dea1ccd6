/** Settings of ACME. Contract section 4.7. */

import { CofferError } from '../base/error.ts'

export const ACME_PORTS = ['appliance', 'chat'] as const
export type AcmePort = (typeof ACME_PORTS)[number]

export const CHALLENGES = ['http-01', 'tls-alpn-01'] as const
export type ChallengeType = (typeof CHALLENGES)[number]

export interface AcmeSettings {
  /** Null: nothing is ordered. */
  readonly directory: string | null
  readonly contact: readonly string[]
  readonly termsAgreed: boolean
  /** Account that the CA has given outside ACME. */
  readonly eab: { readonly kid: string; readonly key: string } | null
  readonly challenge: ChallengeType
  readonly profile: string | null
  /** Names and IP addresses of the certificate for each port. Empty: the certificate is left alone. */
  readonly appliance: readonly string[]
  readonly chat: readonly string[]
}

/** Members that are absent stay as they are. The key of an external account stays with the same `kid`. */
export type AcmeChange = Partial<Omit<AcmeSettings, 'eab'>> & { eab?: { kid: string; key?: string | undefined } | null }

export const DEFAULT_ACME: AcmeSettings = {
  directory: null,
  contact: [],
  termsAgreed: false,
  eab: null,
  challenge: 'http-01',
  profile: null,
  appliance: [],
  chat: [],
}

/** Agreement and external account are for one directory: another one starts without them. Throws `invalid` for an external account without a key. */
export function changeAcme(former: AcmeSettings, { eab, ...others }: AcmeChange): AcmeSettings {
  const isSame = others.directory === undefined || others.directory === former.directory
  const before = isSame ? former : { ...former, termsAgreed: false, eab: null }
  const after = { ...before, ...others }
  if (after.directory === null) return { ...after, eab: null }
  return eab === undefined ? after : { ...after, eab: eab && readAccount(before, eab) }
}

function readAccount(before: AcmeSettings, { kid, key }: { kid: string; key?: string | undefined }) {
  const known = key ?? (before.eab?.kid === kid ? before.eab.key : undefined)
  if (known === undefined) throw new CofferError('invalid', 'eab: another kid or directory needs its key')
  return { kid, key: known }
}
