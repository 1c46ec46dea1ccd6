/** Renewal information (ARI): when the CA wants a certificate to be renewed. RFC 9773. */

import * as z from 'zod'
import type { AcmeClient } from './client.ts'
import { askAgainAt, type RenewalWindow } from './schedule.ts'

export interface RenewalInfo {
  /** Null if the CA does not say. */
  window: RenewalWindow | null
  askAgainAtMs: number
}

const time = z
  .string()
  .max(64)
  .transform((text, context) => {
    const ms = Date.parse(text)
    if (!Number.isNaN(ms)) return ms
    context.issues.push({ code: 'custom', message: 'not a time', input: undefined })
    return z.NEVER
  })

const schema = z.object({ suggestedWindow: z.object({ start: time, end: time }) })

/** `id`: identifier of the certificate, null for one without. Throws AcmeError and OutgoingError. */
export async function askRenewalInfo(client: AcmeClient, id: string | null, now: () => number): Promise<RenewalInfo> {
  const { renewalInfo } = await client.directory()
  const none = { window: null, askAgainAtMs: askAgainAt(now(), undefined) }
  if (renewalInfo === undefined || id === null) return none
  const { body, retryAfterMs } = await client.get(`${renewalInfo.replace(/\/$/, '')}/${id}`)
  const { data } = schema.safeParse(body)
  if (data === undefined || data.suggestedWindow.start > data.suggestedWindow.end) return none
  const { start, end } = data.suggestedWindow
  return { window: [start, end], askAgainAtMs: askAgainAt(now(), retryAfterMs) }
}
