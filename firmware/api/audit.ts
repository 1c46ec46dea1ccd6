/** `/audit`: who did what. Beyond the reference's endpoints; contract section 7.6. */

import * as z from 'zod'
import type { Appliance } from '../appliance.ts'
import { type AuditLog, LINES_MAX, LINES_MIN } from '../audit/audit-log.ts'
import { formatTime } from '../clock.ts'
import { CofferError } from '../error.ts'
import { id, integer, timestamp, userId } from '../http/schema.ts'
import { declare, EMPTY, OPERATIONAL, ROOT_ADMINISTRATORS } from './services.ts'

const PAGE_LINES_MAX = 1000
const PAGE_LINES_DEFAULT = 100
const ACTION_CHARACTERS_MAX = 128 // longer than any

const LINES_TYPE = 'application/jsonl'

const number = z.string().regex(/^[1-9]\d{0,14}$/, 'not a positive number') // a safe integer
const hash = z.string().meta({ description: 'SHA-256, in hex.' })

const auditHead = z
  .object({
    first: z.int().meta({ description: 'The oldest line that is kept.' }),
    sequence: z.int().meta({ description: 'The newest line.' }),
    hash,
    time: timestamp,
    key: z.string().meta({ description: 'Ed25519 public key of this appliance, in hex.' }),
    signature: z.string().meta({ description: 'Of the members before, in hex.' }),
  })
  .meta({ id: 'AuditHead' })

const auditLine = z
  .object({
    sequence: z.int(),
    time: timestamp,
    user: z.string().meta({ description: 'With result 401 or 429 the one that was claimed.' }),
    address: z.string(),
    action: z.string().meta({ examples: ['POST /keys/{id}/sign'] }),
    key: z.string(),
    namespace: z.string().meta({ description: 'Of the user.' }),
    result: z.int().meta({ description: 'Status of the answer.' }),
    facts: z.record(z.string(), z.string()).optional(),
    skipped: z.int().optional().meta({ description: 'Refused events that were left out before this one.' }),
    previous: hash,
    hash,
  })
  .meta({ id: 'AuditLine' })

const page = z
  .object({ lines: z.array(auditLine), next: z.int().optional(), head: auditHead })
  .meta({ id: 'AuditPage' })

const query = z.object({
  before: number.optional().meta({ description: 'Only lines before this one: `next` of the page before.' }),
  limit: number
    .refine((text) => Number(text) <= PAGE_LINES_MAX, `at most ${PAGE_LINES_MAX}`)
    .optional()
    .meta({ description: `Lines at most, up to ${PAGE_LINES_MAX}; ${PAGE_LINES_DEFAULT} when not given.` }),
  user: userId.optional(),
  action: z
    .string()
    .max(ACTION_CHARACTERS_MAX)
    .optional()
    .meta({ description: 'Any part of the action, e.g. `/sign` or `DELETE /keys`.' }),
  key: id.optional(),
  from: timestamp.optional(),
  to: timestamp.optional(),
})

const auditSettings = z
  .strictObject({ lines: integer(LINES_MIN, LINES_MAX).meta({ description: 'The oldest beyond them are removed.' }) })
  .meta({ id: 'AuditSettings' })

const auditOf = ({ audit }: Appliance): AuditLog => {
  if (audit === undefined) throw new CofferError('unavailable', 'Service not available')
  return audit
}

/** Ends with the session it began in. */
async function* whileOpen(appliance: Appliance, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const session = appliance.open()
  for await (const chunk of chunks) {
    if (appliance.open() !== session) throw new CofferError('unavailable', 'Service not available')
    yield chunk
  }
}

export const auditDeclarations = [
  declare({
    method: 'GET',
    path: '/audit',
    summary: 'Lines of the audit log, newest first. `next` is there while older ones are left, even if none was found.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    query,
    noCache: true,
    answers: { status: 200, json: page },
    errors: { 400: 'Not a number, an ID, or a time in UTC.' },
    handle: async ({ services: { appliance }, query: { before, limit, from, to, ...filter } }) => ({
      status: 200,
      json: await auditOf(appliance).page({
        ...filter,
        limit: limit === undefined ? PAGE_LINES_DEFAULT : Number(limit),
        ...(before !== undefined && { before: Number(before) }),
        ...(from !== undefined && { from: formatTime(from) }),
        ...(to !== undefined && { to: formatTime(to) }),
      }),
    }),
  }),
  declare({
    method: 'GET',
    path: '/audit/export',
    summary: 'The whole audit log as JSON lines, oldest first, its signed head at the end.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    noCache: true,
    answers: { status: 200, types: [LINES_TYPE] },
    handle: ({ services: { appliance } }) => ({
      status: 200,
      stream: whileOpen(appliance, auditOf(appliance).export()),
      type: LINES_TYPE,
    }),
  }),
  declare({
    method: 'GET',
    path: '/config/audit',
    summary: 'How many lines of the audit log are kept.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    answers: { status: 200, json: auditSettings },
    handle: ({ services: { appliance } }) => ({ status: 200, json: { lines: auditOf(appliance).lines } }),
  }),
  declare({
    method: 'PUT',
    path: '/config/audit',
    summary: 'Sets how many lines of the audit log are kept.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    creates: true,
    body: { kind: 'json', schema: auditSettings },
    answers: EMPTY,
    errors: { 400: `Not a number from ${LINES_MIN} to ${LINES_MAX}.` },
    facts: ({ body }) => ({ lines: String(body.lines) }),
    handle: ({ services, caller, body: { lines } }) => {
      auditOf(services.appliance).setLines(lines)
      services.log.info('general', `audit log of ${lines} lines set by ${caller.userId}`)
      return { status: 204 }
    },
  }),
]
