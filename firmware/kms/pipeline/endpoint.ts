/** An endpoint as a declaration: rules that the pipeline enforces and the API documents describe, and a short handler. */

import type { z } from 'zod'
import type { ApplianceState } from '../../base/states.ts'
import type { BasicCredentials } from '../../http/endpoint/basic.ts'
import type { Endpoint } from '../../http/endpoint/endpoint.ts'
import { BODY_BYTES_MAX } from '../../http/request/body.ts'
import type { Upload } from '../../http/request/body-stream.ts'
import type { Part } from '../../http/request/multipart.ts'
import type { Caller, Role } from '../domain/roles.ts'
import type { DialectRequest } from './dialect.ts'

export const BASE_PATH = '/api/v1'

/** Callers of an endpoint. `publicIn` lists states in which no credentials are needed; contract section 3. */
export interface EndpointAccess {
  roles: readonly Role[]
  /** `root`: only callers outside any namespace. `any`: all callers. */
  scope: 'root' | 'any'
  publicIn?: readonly ApplianceState[]
}

/** Format of a request body. The limit is 1 MiB unless stated otherwise (contract 1.5). */
export type Body<T> =
  | { kind: 'json'; schema: z.ZodType<T> }
  | LongJsonBody<T>
  /** Raw bytes with a content type of `types`; `parse` throws `invalid`. */
  | { kind: 'raw'; types: readonly string[]; parse: (bytes: Uint8Array, type: string) => T }
  /** JSON or multipart/form-data, by content type (key import, contract 4.6). */
  | {
      kind: 'jsonOrMultipart'
      schema: z.ZodType<T>
      parts: (parts: readonly Part[]) => T
    }
  /**
   * A body of any size, read by the handler as it arrives, at the minimum rate of all bodies. The handler iterates once and may stop early.
   * Iterating throws `timeout`, or `invalid` if the client disconnects. `types` are documented, and checked if the endpoint `creates`.
   * `form` names the parts of multipart/form-data, to be read with `readParts`. `contentType` is as sent, `''` if missing. If the body is
   * refused, `bytesExpectedMax` bytes are discarded, so that the client can finish sending and read the answer.
   */
  | {
      kind: 'stream'
      types: readonly string[]
      form?: MultipartForm
      bytesExpectedMax: number
      open: (chunks: Upload, contentType: string) => T
    }

export type MultipartForm = Readonly<Record<string, 'binary' | { example: object }>>

/** A JSON object with one long base64 member, which is decoded while it arrives, and short other members: see `longJson`. */
export interface LongJsonBody<T> {
  kind: 'longJson'
  schema: z.ZodType
  names: readonly string[]
  long: string
  bytesMax: number
  value: (fields: unknown, bytes: Uint8Array | null) => T
}

/** Input of a handler. `S` are the services of the API. */
export interface Request<S, P, Q, B> {
  services: S
  /** Undefined only for public endpoints. */
  caller: Caller
  address: string
  /**
   * Aborts when the client disconnects; long-running handlers can then stop. Created on the first call, because it takes 6 KB until the
   * next full collection.
   */
  signal: () => AbortSignal
  /** Credentials as sent, for declarations with an `account`. */
  credentials: BasicCredentials | null
  /** Null for requests of NetHSM's API. */
  dialect: DialectRequest | null
  /** Call it if the handler's callees write the audit record. The pipeline then writes none. */
  isRecorded: () => void
  params: P
  query: Q
  body: B
}

export type Result =
  /** `text` returns the same content as text, for declarations with a `textType`. */
  | { status: 200; json: unknown; text?: () => string }
  | { status: 200 | 201; bytes: Uint8Array; type: string }
  /** JSON of any status, for a dialect. */
  | { status: number; reply: unknown; headers?: Readonly<Record<string, string>> }
  /** Constant content, the same for all clients. Sent as fast as the client reads, without a copy per client. */
  | { status: 200; file: Uint8Array; type: string }
  /** Produced as fast as the client reads. If it throws, the connection is cut. */
  | {
      status: 200
      stream: AsyncIterable<Uint8Array>
      type: string
      headers?: Readonly<Record<string, string>>
    }
  /** `location` is relative to the API's base path, such as `/keys/abc`. */
  | { status: 201; location?: string; json?: unknown }
  | { status: 200 | 204 | 304; headers?: Readonly<Record<string, string>> }

export interface Declaration<S, P = unknown, Q = unknown, B = unknown> extends Endpoint {
  /** Relative to `/api/v1`; parameters as `:name`, such as `/keys/:id/sign`. */
  readonly path: string
  summary: string
  states: readonly ApplianceState[]
  access: EndpointAccess | 'public'
  /**
   * Restricts a public endpoint to an account that is not a user's. `authenticate` refuses other names; the handler checks the passphrase.
   */
  account?: string
  /**
   * Name under which failures are limited per address, as logins are (contract 7.1, `_unlock`). Checked before authentication. JSON that
   * fails its schema counts as a failure; the handler counts further ones itself.
   */
  attemptsAs?: string
  /**
   * Checks role and namespace against the target, beyond `access`. Throws `forbidden`. Checked again when the request acts and before each
   * change.
   */
  authorize?: (request: Request<S, Record<string, string>, unknown, unknown>) => void
  /** Syntax of the path parameters after percent-decoding. */
  params?: z.ZodType<P>
  query?: z.ZodType<Q>
  /** Loads state from elsewhere that `exists`, `mayUse` and `version` need. */
  prepare?: (request: Request<S, P, unknown, unknown>) => Promise<void>
  /** Throws `notFound` if the resource is missing. */
  exists?: (request: Request<S, P, unknown, unknown>) => void
  /** Throws `forbidden` if tags keep the caller from using the key. Checked after `exists` and before the body is read. */
  mayUse?: (request: Request<S, P, unknown, unknown>) => void
  /**
   * Version of the resource for conditional requests: a text that changes with the representation. Its hash is the `etag`, sent on GET.
   * Null for a missing resource, undefined for one without etag.
   */
  version?: (request: Request<S, P, Q, unknown>) => string | null | undefined
  body?: Body<B>
  /** True for requests that create a resource: the content type must match (415). */
  creates?: boolean
  /** Adds `cache-control: no-cache` (contract 1.3). */
  noCache?: boolean
  headers?: Readonly<Record<string, string>>
  /** If it returns false, the path is unknown. */
  isOffered?: (services: S) => boolean
  /** True if the request adds records. It is refused with 507, before its body is read, when only the disk reserve is left. */
  addsRecords?: boolean
  /**
   * Answers success even if the audit record cannot be written. The state has changed by then, and an error would make the client believe
   * that the change failed. The record is written once the disk accepts it.
   */
  isDoneUnrecorded?: boolean
  /**
   * Kind of audit record (contract 7.6). A `change` is on disk before its answer, a `use` of a key may follow shortly, `none` records
   * refused callers only. Default: `none` for GET, else `change`.
   */
  audit?: 'change' | 'use' | 'none'
  /** Further facts for the audit record, without secrets. The body is missing if it was not accepted. */
  facts?: (request: Request<S, P, Q, B>) => Readonly<Record<string, string | undefined>>
  /**
   * Content of 2xx answers, for `accept` and the API documents. With several `types` the handler chooses the type. If `accept` refuses that
   * type, the bytes are labeled with the type that the client prefers. With a `textType`, JSON is sent unless `accept` prefers text.
   */
  answers: Answer
  errors?: Partial<Record<304 | 400 | 403 | 404 | 409 | 412 | 413 | 415 | 429 | 500 | 503 | 507, string>>
  handle: (request: Request<S, P, Q, B>) => Result | Promise<Result>
}

export type Answer =
  | { status: 200 | 201; json: z.ZodType; textType?: string }
  | { status: 200; types: readonly string[] }
  | { status: 200 | 201 | 204; empty: true }

/** Describes a body whose member `long` is base64. The handler gets bytes, or null for malformed base64. */
export function longJson<Shape extends z.ZodRawShape, Long extends keyof Shape & string>(
  schema: z.ZodObject<Shape, z.core.$strict>,
  long: Long,
  bytesMax: number,
): LongJsonBody<Omit<z.output<typeof schema>, Long> & Record<Long, Uint8Array | null>> {
  type Value = Omit<z.output<typeof schema>, Long> & Record<Long, Uint8Array | null>
  const value = (fields: unknown, bytes: Uint8Array | null) => ({ ...(fields as object), [long]: bytes }) as Value
  return { kind: 'longJson', schema, names: Object.keys(schema.shape), long, bytesMax, value }
}

/** Bound of bodies without credentials; enough for two passphrases and a time. */
const ANONYMOUS_BYTES_MAX = 16 * 1024

/** Returns the declaration's limit; streamed bodies have none. */
export function bodyBytesMax(body: Body<unknown> | undefined, access: EndpointAccess | 'public'): number {
  if (body?.kind === 'stream') return Number.POSITIVE_INFINITY
  if (access === 'public') return ANONYMOUS_BYTES_MAX
  return body?.kind === 'longJson' ? body.bytesMax : BODY_BYTES_MAX
}

/** Infers the types of one declaration; an API has a list of `Declaration<S>`. */
export function endpoint<S, P, Q, B>(declaration: Declaration<S, P, Q, B>): Declaration<S> {
  return declaration as unknown as Declaration<S>
}
