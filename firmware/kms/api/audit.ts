/** `/audit`: the audit log, an extension of the reference's API. Contract section 7.6. */

import * as z from 'zod'
import type { Appliance } from '../../appliance/appliance.ts'
import { type AuditLog, LINES_MAX, LINES_MIN } from '../../audit/audit-log.ts'
import { KINDS } from '../../audit/chain.ts'
import { formatTime } from '../../base/clock.ts'
import { wrongState } from '../../base/error.ts'
import { passOn } from '../../base/iteration.ts'
import { count, id, integer, timestamp, userId } from './schema.ts'
import { declare, EMPTY, OPERATIONAL, ROOT_ADMINISTRATORS } from './services.ts'

const PAGE_LINES_MAX = 1000
const PAGE_LINES_DEFAULT = 100
const ACTION_CHARACTERS_MAX = 128 // longer than any action

const LINES_TYPE = 'application/jsonl'

const hash = z.string().meta({ description: 'SHA-256, in hex.' })

const ringHead = z
  .object({
    first: z.int().meta({ description: 'The oldest line that is kept, 0 while there is none.' }),
    sequence: z.int().meta({ description: 'The newest line, 0 while there is none.' }),
    hash,
  })
  .meta({ id: 'AuditRing' })

const auditHead = z
  .object({
    first: z.int().meta({ description: 'The oldest line that is kept.' }),
    sequence: z.int().meta({ description: 'The newest line.' }),
    hash,
    time: timestamp,
    rings: z.object({ change: ringHead, refusal: ringHead, use: ringHead }),
    key: z.string().meta({ description: 'Ed25519 public key of this appliance, in hex.' }),
    signature: z.string().meta({ description: 'Of the preceding members, in hex.' }),
  })
  .meta({ id: 'AuditHead' })

const auditLine = z
  .object({
    sequence: z.int(),
    kind: z
      .enum(KINDS)
      .optional()
      .meta({ description: 'Absent in lines from before there were kinds, which count as changes.' }),
    time: timestamp,
    user: z
      .string()
      .meta({ description: 'With result 401 or 429 the one that was claimed; `chat:9`: an account of the chat.' }),
    address: z.string(),
    action: z.string().meta({ examples: ['POST /keys/{id}/sign'] }),
    key: z.string(),
    namespace: z.string().meta({ description: 'Of the user.' }),
    result: z.int().meta({ description: 'Status of the answer.' }),
    facts: z.record(z.string(), z.string()).optional(),
    skipped: z.int().optional().meta({ description: 'Refused events that were left out before this one.' }),
    previous: hash,
    previousOfKind: hash.optional(),
    hash,
  })
  .meta({ id: 'AuditLine' })

const page = z
  .object({ lines: z.array(auditLine), next: z.int().optional(), head: auditHead })
  .meta({ id: 'AuditPage' })

const chatUser = z
  .string()
  .regex(/^chat:\d{0,15}$/, 'not a valid user ID')
  .meta({ examples: ['chat:9'] })

const query = z.object({
  before: count(Number.MAX_SAFE_INTEGER)
    .optional()
    .meta({ description: 'Only lines before this one: `next` of the page before.' }),
  limit: count(PAGE_LINES_MAX)
    .optional()
    .meta({ description: `At most so many lines, up to ${PAGE_LINES_MAX}; ${PAGE_LINES_DEFAULT} by default.` }),
  user: z.union([userId, chatUser]).optional(),
  action: z
    .string()
    .max(ACTION_CHARACTERS_MAX)
    .optional()
    .meta({ description: 'Any part of the action, e.g. `/sign` or `DELETE /keys`.' }),
  key: id.optional(),
  from: timestamp.optional(),
  to: timestamp.optional(),
})

const lines = integer(LINES_MIN, LINES_MAX)
const OVERWRITE = 'overwrite'
const REFUSE = 'refuse'

const auditSettings = z
  .object({
    changes: lines.meta({ description: 'How many lines of changes are kept.' }),
    refusals: lines.meta({ description: 'How many lines of what was refused or had no effect are kept.' }),
    uses: lines.meta({ description: 'How many lines of uses of keys are kept.' }),
    whenFull: z.enum([OVERWRITE, REFUSE]).meta({
      description:
        'Whether a use overwrites the oldest one even if that has not been exported, or is refused with 503.',
    }),
  })
  .meta({ id: 'AuditSettings' })

const auditChanges = z
  .strictObject({
    lines: lines.optional().meta({ description: 'For each kind that is not named.' }),
    ...auditSettings.partial().shape,
  })
  .refine((members) => Object.keys(members).length > 0, 'names no setting')
  .meta({ id: 'AuditChanges', examples: [{ changes: 100_000, whenFull: 'refuse' }] })

const auditOf = ({ audit }: Appliance): AuditLog => {
  if (audit === undefined) throw wrongState()
  return audit
}

/** Ends when the session ends in which the download began. */
function whileOpen(appliance: Appliance, chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const session = appliance.open()
  return passOn(chunks, ({ done }) => {
    if (!done && appliance.open() !== session) throw wrongState()
  })
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
    summary: 'How many lines of each kind the audit log keeps, and what happens when it is full of uses.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    answers: { status: 200, json: auditSettings },
    handle: ({ services: { appliance } }) => {
      const { lines, refuseUses } = auditOf(appliance).settings
      const whenFull: typeof OVERWRITE | typeof REFUSE = refuseUses ? REFUSE : OVERWRITE
      return { status: 200, json: { changes: lines.change, refusals: lines.refusal, uses: lines.use, whenFull } }
    },
  }),
  declare({
    method: 'PUT',
    path: '/config/audit',
    summary: 'Sets these; whatever is not named stays. Surplus lines are removed, the oldest first.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    creates: true,
    body: { kind: 'json', schema: auditChanges },
    answers: EMPTY,
    errors: {
      400: `Nothing, or not a number from ${LINES_MIN} to ${LINES_MAX}.`,
      507: 'Such a log does not fit on the disk beside the reserve.',
    },
    facts: ({ body }) => Object.fromEntries(Object.entries(body).map(([name, value]) => [name, String(value)])),
    handle: ({ services, caller, body: { lines, changes, refusals, uses, whenFull } }) => {
      const audit = auditOf(services.appliance)
      const { lines: before, refuseUses } = audit.settings
      const wanted = {
        change: changes ?? lines ?? before.change,
        refusal: refusals ?? lines ?? before.refusal,
        use: uses ?? lines ?? before.use,
      }
      services.appliance.space.expectRoomForGrowth(audit.growthBytes(wanted))
      audit.configure({ lines: wanted, refuseUses: whenFull === undefined ? refuseUses : whenFull === REFUSE })
      services.chat?.tellAuditGrowth()
      services.log.info('general', `audit log configured by ${caller.userId}`)
      return { status: 204 }
    },
  }),
]
