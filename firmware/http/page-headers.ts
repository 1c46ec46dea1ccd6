/**
 * Headers of pages; those of every answer, `x-frame-options` among them, are in server/common-headers.ts.
 * Allows resources of this origin only, nothing inline and no framing. `sources` adds directives for resources other than scripts and
 * styles. `trustedTypes` names the one policy that scripts may create. W3C CSP 3, Trusted Types.
 */
export const pageHeaders = (sources: Readonly<Record<string, string>>, trustedTypes = "'none'") => ({
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    ...Object.entries(sources).map(([directive, from]) => `${directive} ${from}`),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    `trusted-types ${trustedTypes}`,
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), usb=()',
})

/** `cache-control` of files whose content changes under the same name. */
export const NEWEST = 'no-cache'
/** `cache-control` of files named by a hash of their content. */
export const FOR_EVER = 'public, max-age=31536000, immutable'
