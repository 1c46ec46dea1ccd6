/** Schemas shared by requests, with their descriptions for the API documents. Contract sections 1.1, 1.2 and 4.1. */

import * as z from 'zod'
import { BASE64, readBase64 } from '../../base/base64.ts'
import { ID_PATTERN, USER_ID_PATTERN } from '../domain/identifiers.ts'
import { KEY_TAGS_MAX } from '../domain/key-record.ts'
import { PASSPHRASE_BYTES_MAX, PASSPHRASE_BYTES_MIN } from '../domain/passphrase.ts'
import { ROLES } from '../domain/roles.ts'

export const id = z
  .string()
  .regex(ID_PATTERN, 'not a valid ID')
  .meta({ id: 'ID', examples: ['myKey1'] })

export const tag = id.meta({ examples: ['berlin'] })

export const namespaceId = id.meta({ examples: ['backend'] })

export const userId = z
  .string()
  .regex(USER_ID_PATTERN, 'not a valid user ID')
  .meta({ id: 'UserID', examples: ['operator', 'backend~operator'] })

export const role = z.enum(ROLES).meta({ id: 'Role' })

export const onOff = z
  .strictObject({ status: z.enum(['on', 'off']) })
  .meta({ id: 'Switch', examples: [{ status: 'on' }] })

/** A new passphrase, as UTF-8 bytes. */
export const passphrase = z
  .string()
  .meta({
    id: 'Passphrase',
    format: 'password',
    minLength: PASSPHRASE_BYTES_MIN,
    maxLength: PASSPHRASE_BYTES_MAX,
    description: '10 to 200 bytes of UTF-8.',
  })
  .transform((text, context) => {
    const bytes = toUtf8(text)
    if (bytes !== null && bytes.length >= PASSPHRASE_BYTES_MIN && bytes.length <= PASSPHRASE_BYTES_MAX) return bytes
    context.issues.push({ code: 'custom', message: 'must have 10 to 200 bytes of UTF-8', input: undefined })
    return z.NEVER
  })

/** A passphrase that is only compared, so it has no bounds. */
export const presentedPassphrase = z
  .string()
  .meta({ format: 'password' })
  .transform((text, context) => {
    const bytes = toUtf8(text)
    if (bytes !== null) return bytes
    context.issues.push({ code: 'custom', message: 'not UTF-8 text', input: undefined })
    return z.NEVER
  })

export const text = (bytesMin: number, bytesMax: number) =>
  z
    .string()
    .refine((value) => {
      const bytes = toUtf8(value)
      return bytes !== null && bytes.length >= bytesMin && bytes.length <= bytesMax
    }, `must have ${bytesMin} to ${bytesMax} bytes of UTF-8`)
    .meta({ ...(bytesMin > 0 && { minLength: 1 }), maxLength: bytesMax })

const LABEL_BYTES_MAX = 32

export const label = text(0, LABEL_BYTES_MAX).meta({ description: 'At most 32 bytes of UTF-8.' })

export const tags = z
  .array(id)
  .max(KEY_TAGS_MAX, `at most ${KEY_TAGS_MAX} tags`)
  .transform((list) => [...new Set(list)].sort())

/** Base64 that the handler decodes with `decodeBase64`, where the contract has other checks first. */
export const base64Text = z.string().meta({ id: 'Base64', contentEncoding: 'base64', pattern: BASE64.source })

export const base64 = (bytesMin = 0, bytesMax = Number.POSITIVE_INFINITY) =>
  base64Text.transform((value, context) => {
    const bytes = readBase64(value)
    if (bytes !== null && bytes.length >= bytesMin && bytes.length <= bytesMax) return bytes
    const message = bytes === null ? 'not base64' : `must have ${bounds(bytesMin, bytesMax)} bytes`
    context.issues.push({ code: 'custom', message, input: undefined })
    return z.NEVER
  })

export const count = (max: number) =>
  z
    .string()
    .regex(/^[1-9]\d{0,14}$/, 'not a positive number') // always a safe integer
    .refine((text) => Number(text) <= max, `at most ${max}`)

export const integer = (min: number, max: number) => z.int().min(min).max(max)

/** RFC 3339 in UTC, converted to milliseconds since 1970. Fractions of a second are dropped. */
export const timestamp = z
  .string()
  .meta({ id: 'Timestamp', format: 'date-time', examples: ['2024-05-17T12:00:00Z'] })
  .transform((value, context) => {
    const timeMs = readTimestamp(value)
    if (timeMs !== null) return timeMs
    context.issues.push({ code: 'custom', message: 'not an RFC 3339 time in UTC', input: undefined })
    return z.NEVER
  })

const TIMESTAMP = /^(\d{4}-\d\d-\d\d)[Tt]((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.\d{1,32})?(?:[Zz]|[+-]00:00)$/

export function readTimestamp(value: string): number | null {
  const match = TIMESTAMP.exec(value)
  if (match === null) return null
  const [, date = '', time] = match
  const timeMs = Date.parse(`${date}T${time}Z`)
  if (Number.isNaN(timeMs)) return null
  // Date lets 30 February roll over to March.
  return new Date(timeMs).toISOString().startsWith(date) ? timeMs : null
}

const encoder = new TextEncoder()

/** Returns null for unpaired surrogates, which the encoder would replace silently. */
const toUtf8 = (value: string): Uint8Array<ArrayBuffer> | null => (value.isWellFormed() ? encoder.encode(value) : null)

const bounds = (min: number, max: number): string =>
  min === max ? `exactly ${min}` : max === Number.POSITIVE_INFINITY ? `at least ${min}` : `${min} to ${max}`
