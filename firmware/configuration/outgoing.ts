/** Settings of outgoing connections. Contract section 4.7. */

export interface OutgoingSettings {
  /** `address` or `address:port`, IPv6 with a port in brackets. */
  readonly resolvers: readonly string[]
  readonly proxy: OutgoingProxy | null
  /** Destinations that are reached without the proxy: a host, `.suffix`, or a CIDR. */
  readonly proxyExcept: readonly string[]
  /** PEM certificates that are trusted besides the public ones. */
  readonly authorities: string
  readonly publicAuthorities: boolean
}

interface OutgoingProxy {
  readonly host: string
  readonly port: number
  readonly user?: string
  readonly password?: string
}

/** Members that are absent stay as they are. A password of `undefined` stays, null removes it. */
export type OutgoingChange = Partial<Omit<OutgoingSettings, 'proxy'>> & {
  proxy?: (Omit<OutgoingProxy, 'password'> & { password?: string | null }) | null
}

export const DEFAULT_OUTGOING: OutgoingSettings = {
  resolvers: [],
  proxy: null,
  proxyExcept: [],
  authorities: '',
  publicAuthorities: true,
}

/** A password stays with the same proxy and user only, so that no other proxy learns it. */
export function changeOutgoing(before: OutgoingSettings, { proxy, ...others }: OutgoingChange): OutgoingSettings {
  const after = { ...before, ...others }
  if (proxy === undefined) return after
  if (proxy === null) return { ...after, proxy: null }
  const { password: given, ...place } = proxy
  const isSame = (['host', 'port', 'user'] as const).every((name) => before.proxy?.[name] === place[name])
  const password = given === undefined && isSame ? before.proxy?.password : given
  return { ...after, proxy: { ...place, ...(password != null && { password }) } }
}
