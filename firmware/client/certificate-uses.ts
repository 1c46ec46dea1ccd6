export const USES = ['server', 'client', 'email', 'code', 'authority'] as const
export type Use = (typeof USES)[number]

/** Codes by OpenSSL's names: RFC 5280 section 5.3.1. */
export const REASONS = {
  keyCompromise: 1,
  CACompromise: 2,
  affiliationChanged: 3,
  superseded: 4,
  cessationOfOperation: 5,
} as const
export type Reason = keyof typeof REASONS
