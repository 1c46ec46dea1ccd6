/**
 * Answers of etcd as its gateway writes them: 64-bit numbers are strings, bytes are base 64, and members that are zero, empty or
 * false are left out. https://protobuf.dev/programming-guides/json/ and api/etcdserverpb/rpc.proto of etcd.
 */

import * as z from 'zod'
import { readBase64 } from '../../base/base64.ts'

/** Revisions and sizes: never above 2^53 in the life of a cluster. */
const int64 = z
  .string()
  .regex(/^\d{1,19}$/, 'not a number')
  .transform(Number)
  .refine(Number.isSafeInteger, 'too large')
  .default(0)

/** An id of a member or cluster: lowercase hex, as other tools write it. */
const id = z
  .string()
  .regex(/^\d{1,20}$/, 'not an id')
  .transform((text) => BigInt(text).toString(16))
  .default('0')

const bytes = z
  .string()
  .transform((text, context) => {
    const decoded = readBase64(text)
    if (decoded === null) context.addIssue({ code: 'custom', message: 'not base64' })
    return decoded as Uint8Array
  })
  .default(() => new Uint8Array())

/** Keys are bytes; each is a character, so that those which others made are told apart, too. */
const key = bytes.transform((decoded) => Buffer.from(decoded).toString('latin1'))
export const encodeKey = (text: string): string => Buffer.from(text, 'latin1').toString('base64')

const header = z.object({ cluster_id: id, member_id: id, revision: int64 })

const entry = z.object({ key, value: bytes, mod_revision: int64 })

export const failure = z.object({ code: z.int().default(0), message: z.string().default('') })

export const streamed = z.object({
  result: z.unknown().optional(),
  /** Its first name is that of etcd before 3.6. */
  error: failure.extend({ grpc_code: z.int().optional() }).optional(),
})

export const answered = z.object({ header })

/** Answers of calls that only say that they are done. */
export const unsaid = z.object({})

export const ranged = z.object({ header, kvs: z.array(entry).default([]), more: z.boolean().default(false) })

export const transacted = z.object({ header, succeeded: z.boolean().default(false) })

export const watched = z.object({
  header,
  created: z.boolean().default(false),
  canceled: z.boolean().default(false),
  compact_revision: int64,
  cancel_reason: z.string().default(''),
  /** More events follow, perhaps of the same revision. */
  fragment: z.boolean().default(false),
  events: z.array(z.object({ type: z.enum(['PUT', 'DELETE']).default('PUT'), kv: entry })).default([]),
})

const member = z
  .object({
    ID: id,
    name: z.string().default(''),
    peerURLs: z.array(z.string()).default([]),
    isLearner: z.boolean().default(false),
  })
  .transform(({ ID, name, peerURLs, isLearner }) => ({ id: ID, name, urls: peerURLs, isLearner }))

export const listed = z.object({ header, members: z.array(member) })

export const added = z.object({ header, member, members: z.array(member) })

export const statusTold = z.object({
  header,
  version: z.string(),
  dbSize: int64,
  dbSizeInUse: int64,
  dbSizeQuota: int64,
  leader: id,
  raftIndex: int64,
  raftAppliedIndex: int64,
  isLearner: z.boolean().default(false),
  /** Such as `memberID:... alarm:NOSPACE`, or `etcdserver: no leader`. */
  errors: z.array(z.string()).default([]),
})

/** A member, as other files use it. */
export type EtcdMember = z.output<typeof member>
