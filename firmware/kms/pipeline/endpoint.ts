/** An endpoint as a declaration: what the pipeline enforces, the API documents describe, and a short handler. */

import type { z } from 'zod'
import type { ApplianceState } from '../../base/states.ts'
import type { BasicCredentials } from '../../http/endpoint/basic.ts'
import type { Endpoint } from '../../http/endpoint/endpoint.ts'
import { BODY_BYTES_MAX } from '../../http/request/body.ts'
import type { Upload } from '../../http/request/body-stream.ts'
import type { Part } from '../../http/request/multipart.ts'
import type { Caller, Role } from '../domain/roles.ts'

/** Of every path of the API. */
export const BASE_PATH = '/api/v1'

/** Who may call. `publicIn` lists the states in which no credentials are asked for; contract section 3. */
export interface EndpointAccess {
  roles: readonly Role[]
  /** `root`: callers outside any namespace only. `any`: both. */
  scope: 'root' | 'any'
  publicIn?: readonly ApplianceState[]
}

/** How a request body is read: 1 MiB at most where nothing else is said (contract 1.5). */
export type Body<T> =
  | { kind: 'json'; schema: z.ZodType<T> }
  | LongJsonBody<T>
  /** Raw bytes with one of `types` as content type; parsed by `parse`, which throws `invalid`. */
  | { kind: 'raw'; types: readonly string[]; parse: (bytes: Uint8Array, type: string) => T }
  /** JSON or multipart/form-data, chosen by content type (key import, contract 4.6). */
  | {
      kind: 'jsonOrMultipart'
      schema: z.ZodType<T>
      /** Exactly the parts given, by name, in order of arrival. */
      parts: (parts: readonly Part[]) => T
    }
  /**
   * As it arrives, of any size, at the least rate of every other body: for handlers that never hold all of it. The
   * handler iterates once and may stop early. Iterating throws `timeout`, or `invalid` when the client goes away.
   * `types` are for the API documents, and for the check of requests that create, `form` names the parts where one of
   * them is multipart/form-data (to be read with `readParts`); `contentType` is as sent, `''` if not. Of a body that is
   * refused `bytesExpectedMax` are discarded, so that the client that goes on sending reads the answer.
   */
  | {
      kind: 'stream'
      types: readonly string[]
      form?: MultipartForm
      bytesExpectedMax: number
      open: (chunks: Upload, contentType: string) => T
    }

/** Parts of multipart/form-data by name: bytes, or JSON as in this example. */
export type MultipartForm = Readonly<Record<string, 'binary' | { example: object }>>

/** A JSON object with one long member of base64, which is never held as text, and other short ones: see `longJson`. */
export interface LongJsonBody<T> {
  kind: 'longJson'
  /** As the documents show it. */
  schema: z.ZodType
  names: readonly string[]
  long: string
  bytesMax: number
  /** Made of what `schema` gives and the decoded bytes. */
  value: (fields: unknown, bytes: Uint8Array | null) => T
}

/** What a handler is given. `S` is the set of services the API was built with; `http` knows nothing of it. */
export interface Request<S, P, Q, B> {
  services: S
  /** Set on every request that was authenticated. */
  caller: Caller
  /** IP address of the client, for rate limits and the log. */
  address: string
  /**
   * Aborted when the client has gone: whoever makes something long for it can stop. Made when it is asked for: it takes
   * 6 KB, which stay until the next full collection.
   */
  signal: () => AbortSignal
  /** As they were sent, where the declaration names an account of its own. */
  credentials: BasicCredentials | null
  /** Called when what the handler calls writes the line of the audit log itself: the pipeline then writes none. */
  isRecorded: () => void
  params: P
  query: Q
  body: B
}

export type Result =
  /** `text` is the same in the other form, where the declaration has one. */
  | { status: 200; json: unknown; text?: () => string }
  | { status: 200 | 201; bytes: Uint8Array; type: string }
  /** The same for everybody, at any time: sent as fast as the client reads, so that none who does not read it holds a copy. */
  | { status: 200; file: Uint8Array; type: string }
  /** As it is made, as fast as the client reads, never all of it in memory. When it throws, the connection is cut. */
  | {
      status: 200
      stream: AsyncIterable<Uint8Array>
      type: string
      headers?: Readonly<Record<string, string>>
    }
  /** `location` is relative to the API's base path, e.g. `/keys/abc`. */
  | { status: 201; location?: string; json?: unknown }
  | { status: 200 | 204 | 304; headers?: Readonly<Record<string, string>> }

export interface Declaration<S, P = unknown, Q = unknown, B = unknown> extends Endpoint {
  /** Relative to `/api/v1`; parameters as `:name`, e.g. `/keys/:id/sign`. */
  readonly path: string
  /** One line for the API documents. */
  summary: string
  states: readonly ApplianceState[]
  access: EndpointAccess | 'public'
  /** Public but for this account, which is no user's: others are refused by `authenticate`, its passphrase the handler checks. */
  account?: string
  /**
   * Name under which failures are limited per address like failed logins (contract 7.1, `_unlock`): asked before
   * credentials are, and a body that parses but fails its schema counts as one. What the handler finds wrong, it counts itself.
   */
  attemptsAs?: string
  /**
   * Role and namespace of the caller against the target, beyond `access`; throws `forbidden`. Asked again when the
   * request acts, and whenever a change follows from it.
   */
  authorize?: (request: Request<S, Record<string, string>, unknown, unknown>) => void
  /** Syntax of the path parameters after percent-decoding. */
  params?: z.ZodType<P>
  query?: z.ZodType<Q>
  /** Ends when what the next three look at is known, where somebody else has to be asked for it. */
  prepare?: (request: Request<S, P, unknown, unknown>) => Promise<void>
  /** Throws `notFound` when the resource is missing. */
  exists?: (request: Request<S, P, unknown, unknown>) => void
  /** Throws `forbidden` when tags keep the caller from using the key: behind `exists`, so that no body is taken in vain. */
  mayUse?: (request: Request<S, P, unknown, unknown>) => void
  /**
   * The resource for conditional headers: any text that changes with its representation (it is hashed into the
   * `etag` and never sent itself), null when the resource is missing, undefined when it has no etag. Sends `etag` on GET.
   */
  version?: (request: Request<S, P, Q, unknown>) => string | null | undefined
  body?: Body<B>
  /** The content type must match (415): requests that create a resource. */
  creates?: boolean
  /** Adds `cache-control: no-cache` (contract 1.3). */
  noCache?: boolean
  /** More headers of its answers, 304 included. */
  headers?: Readonly<Record<string, string>>
  /** Where it says no, the path is as unknown as any other. */
  isOffered?: (services: S) => boolean
  /** It adds to the records: refused with 507 while only the reserve of the disk is left, before its body is taken. */
  addsRecords?: boolean
  /**
   * Answered as done even if its line cannot be written: the appliance is in another state by then, and a client that reads of a
   * failure would take it for what it was. The line is written as soon as the disk takes it.
   */
  isDoneUnrecorded?: boolean
  /**
   * What it is for the audit log (contract 7.6): the record of a `change` is on disk before its answer, that of a `use`
   * of a key may follow shortly, of `none` only refused callers are recorded. Default: `none` for GET, else `change`.
   */
  audit?: 'change' | 'use' | 'none'
  /** More for the record than path and answer tell, never secret. The body is not given when it was not accepted. */
  facts?: (request: Request<S, P, Q, B>) => Readonly<Record<string, string | undefined>>
  /**
   * What 2xx answers look like, for `accept` and the API documents. With several `types` the handler answers
   * with the type it has; when `accept` refuses that one, the bytes go out as the type it likes best. With a
   * `textType`, JSON goes out unless `accept` likes the other one better.
   */
  answers: Answer
  /** Further statuses for the API documents, with what they mean here. */
  errors?: Partial<Record<304 | 400 | 403 | 404 | 409 | 412 | 413 | 415 | 429 | 500 | 503 | 507, string>>
  handle: (request: Request<S, P, Q, B>) => Result | Promise<Result>
}

export type Answer =
  | { status: 200 | 201; json: z.ZodType; textType?: string }
  | { status: 200; types: readonly string[] }
  | { status: 200 | 201 | 204; empty: true }

/** A body whose member `long` is base64 on the wire and bytes for the handler, null where it was no base64. */
export function longJson<Shape extends z.ZodRawShape, Long extends keyof Shape & string>(
  schema: z.ZodObject<Shape, z.core.$strict>,
  long: Long,
  bytesMax: number,
): LongJsonBody<Omit<z.output<typeof schema>, Long> & Record<Long, Uint8Array | null>> {
  type Value = Omit<z.output<typeof schema>, Long> & Record<Long, Uint8Array | null>
  const value = (fields: unknown, bytes: Uint8Array | null) => ({ ...(fields as object), [long]: bytes }) as Value
  return { kind: 'longJson', schema, names: Object.keys(schema.shape), long, bytesMax, value }
}

/** Without credentials: two passphrases and a time. */
const ANONYMOUS_BYTES_MAX = 16 * 1024

/** What the declaration allows; streamed bodies have no limit. */
export function bodyBytesMax(body: Body<unknown> | undefined, access: EndpointAccess | 'public'): number {
  if (body?.kind === 'stream') return Number.POSITIVE_INFINITY
  if (access === 'public') return ANONYMOUS_BYTES_MAX
  return body?.kind === 'longJson' ? body.bytesMax : BODY_BYTES_MAX
}

/** Infers the types of one declaration; the list of an API is `Declaration<S>[]`. */
export function endpoint<S, P, Q, B>(declaration: Declaration<S, P, Q, B>): Declaration<S> {
  return declaration as unknown as Declaration<S>
}
