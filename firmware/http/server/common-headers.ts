/** Common headers of the TLS port's answers. Contract section 1.3. */

const FIXED = {
  vary: 'Accept, Accept-Encoding, Accept-Charset, Accept-Language',
  'strict-transport-security': 'max-age=31536000',
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'x-xss-protection': '1; mode=block',
  'x-permitted-cross-domain-policies': 'none',
} as const

/** Cached for one second, as long as `date` stays the same. */
export function createCommonHeaders(now: () => number): () => Readonly<Record<string, string>> {
  let second = Number.NaN
  let headers: Readonly<Record<string, string>> = FIXED
  return () => {
    const current = Math.floor(now() / 1000)
    if (current !== second) {
      second = current
      headers = { date: new Date(current * 1000).toUTCString(), ...FIXED }
    }
    return headers
  }
}
