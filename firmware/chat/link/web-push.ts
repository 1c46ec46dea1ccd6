/** Settings of Web Push, which the appliance keeps, and its list of push services. Contract section 3.8 of the appliance. */

export interface WebPushSettings {
  /** As in a URL: `host` at port 443, `host:port`, or `*.domain` for all hosts below a domain. */
  readonly hosts: readonly string[]
  /** `mailto:` or `https:` URL that push services may use. */
  readonly contact: string
  /** True if notifications contain sender, topic and text. */
  readonly content: boolean
}

/** Returns the listed form of the URL's host, which is `host` or `host:port`. Null unless it is https and the host is listed. */
export function pushHostOf(url: string, hosts: readonly string[]): string | null {
  const parsed = URL.parse(url)
  if (parsed === null || parsed.protocol !== 'https:') return null
  const { host } = parsed
  const isListed = hosts.some((one) => one === host || (one.startsWith('*.') && host.endsWith(one.slice(1))))
  return isListed ? host : null
}
