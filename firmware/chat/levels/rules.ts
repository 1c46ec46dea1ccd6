/** The language of gates: what a client of an older level is spared, by words over named surfaces. Contract section 8. */

import { type ChatErrorCode, invalidParameter } from '../base/error.ts'
import type { Shape } from '../events/shapes.ts'
import type { Realm } from '../realm/model/realm.ts'
import type { User } from '../realm/model/records.ts'

// biome-ignore lint/suspicious/noExplicitAny: answers and events as JSON, whose members rules look at by name
export type Json = any

/** Who is answered. */
export interface RequestContext {
  readonly realm: Realm
  /** That the client has declared. */
  readonly level: number
  /** What was sent with the request. */
  readonly values: ReadonlyMap<string, string>
  /** Throws once the caller is admitted no longer. */
  me(): User | null
}

/** Who is told. */
export interface EventContext {
  readonly realm: Realm
  readonly level: number
  readonly shape: Shape
  readonly to: Iterable<number> | 'everyone'
  readonly cause: string | undefined
}

type Context = RequestContext | EventContext

/** Where members stand: in the answer of an endpoint, such as `PATCH /realm`, or in an event of a type, or of `type/op`. */
export interface RuleTarget {
  readonly answer?: string
  readonly event?: string
  /** The way to them; `*` for each member. */
  readonly path?: readonly string[]
  /** Before each name. */
  readonly prefix?: string
  /** An event that tells of one member, by these: its name, and its value. */
  readonly pair?: readonly [name: string, value: string]
  /** An event of which nothing is left without members there. */
  readonly isDict?: boolean
}
export type Targets = readonly RuleTarget[]

type RuleEdit = (object: Json, context: Context, prefix: string) => void
type Test<T> = (value: T, context: EventContext) => boolean

export type Rule =
  | { readonly kind: 'edit'; readonly surface: Targets; readonly edit: RuleEdit }
  | {
      readonly kind: 'event'
      readonly type: string
      readonly isWhole: boolean
      readonly others: readonly string[]
      readonly rewrite: (event: Json, told: EventContext) => readonly Json[]
    }
  | { readonly kind: 'request'; readonly endpoints: readonly string[]; readonly read: ReadRequest }
  | { readonly kind: 'endpoint'; readonly endpoints: readonly string[] }
  | { readonly kind: 'other'; readonly endpoint: string; readonly parameter: string; readonly other: string }
  | { readonly kind: 'code'; readonly endpoint: string; readonly from: ChatErrorCode; readonly to: ChatErrorCode }

/** Old names and values become those of now. Names that mean nothing go to `ignored`. */
export type ReadRequest = (
  values: Map<string, string>,
  ignored: string[],
  realm: Realm,
  /** Segments of the path, as they are declared. */
  path: Readonly<Record<string, unknown>>,
) => void

export interface LevelChange {
  readonly level: number
  /** Levels below it that have the change all the same. */
  readonly backported?: readonly number[]
  readonly rules: readonly Rule[]
}

export const levelChange = (level: number, ...rules: Rule[]): LevelChange => ({ level, rules })

/** The members are not there. */
export const removeFields = (names: readonly string[], surface: Targets): Rule =>
  edit(surface, (object, _, prefix) => {
    for (const name of names) delete object[prefix + name]
  })

/** A member that is gone is there, beside another one. */
export const addField = (name: string, beside: string, value: (realm: Realm) => unknown, surface: Targets): Rule =>
  edit(surface, (object, { realm }) => {
    if (beside in object) object[name] = value(realm)
  })

/** Puts a member that is gone where it stood: behind `beside`. */
export function insertBehind(object: Json, beside: string, name: string, value: unknown): void {
  const entries = Object.entries(object)
  const later = entries.slice(entries.findIndex(([key]) => key === beside) + 1)
  for (const [key] of later) delete object[key]
  Object.assign(object, { [name]: value }, Object.fromEntries(later))
}

export const renameField = (names: Readonly<Record<string, string>>, surface: Targets): Rule =>
  edit(surface, (object, _, prefix) => {
    for (const [now, before] of Object.entries(names)) {
      if (!(prefix + now in object)) continue
      object[prefix + before] = object[prefix + now]
      delete object[prefix + now]
    }
  })

export const mapField = (name: string, convert: (value: Json, realm: Realm) => unknown, surface: Targets): Rule =>
  edit(surface, (object, { realm }, prefix) => {
    if (prefix + name in object) object[prefix + name] = convert(object[prefix + name], realm)
  })

/** Whatever no other word says. */
export const edit = (surface: Targets, edit: RuleEdit): Rule => ({ kind: 'edit', surface, edit })

/** Of answers alone, where it matters who asks. */
export const editAnswer = (surface: Targets, edit: (body: Json, asking: RequestContext) => void): Rule => ({
  kind: 'edit',
  surface,
  edit: (body, context) => edit(body, context as RequestContext),
})

/** Events of a type, or of `type/op`, do not reach the client. */
export const dropEvent = (type: string, test?: Test<Json>): Rule => ({
  kind: 'event',
  type,
  isWhole: test === undefined && !type.includes('/'),
  others: [],
  rewrite: (event, told) => (test === undefined || test(event, told) ? [] : [event]),
})

/** Others in their place, of the types `others` or of the same. */
export const replaceEvent = (
  type: string,
  others: readonly string[],
  rewrite: (event: Json, told: EventContext) => readonly Json[],
): Rule => ({
  kind: 'event',
  type,
  isWhole: false,
  others,
  rewrite,
})

/** They are not known: reported as ignored. */
export const removeParameters = (names: readonly string[], ...endpoints: string[]): Rule =>
  request(endpoints, (values, ignored) => {
    for (const name of names) if (values.delete(name)) ignored.push(name)
  })

/** The old name alone is known; `convert` makes its value one of now. */
export const renameParameter = (
  now: string,
  before: string,
  endpoints: readonly string[],
  convert: (raw: string, realm: Realm) => string = (raw) => raw,
): Rule =>
  request(endpoints, (values, ignored, realm) => {
    if (values.delete(now)) ignored.push(now)
    const raw = values.get(before)
    if (raw === undefined) return
    values.delete(before)
    values.set(now, convert(raw, realm))
  })

export const mapParameter = (name: string, endpoints: readonly string[], convert: (raw: string) => string): Rule =>
  request(endpoints, (values) => {
    const raw = values.get(name)
    if (raw !== undefined) values.set(name, convert(raw))
  })

/** Another default. */
export const defaultParameter = (
  name: string,
  value: string,
  test: (values: ReadonlyMap<string, string>) => boolean,
  endpoint: string,
): Rule =>
  request([endpoint], (values) => {
    if (!values.has(name) && test(values)) values.set(name, value)
  })

/** The value is refused. */
export const rejectValue = (name: string, test: (raw: string) => boolean, ...endpoints: string[]): Rule =>
  request(endpoints, (values) => {
    const raw = values.get(name)
    if (raw !== undefined && test(raw))
      throw invalidParameter(name, `${name} has a value that this level does not know`)
  })

export const request = (endpoints: readonly string[], read: ReadRequest): Rule => ({ kind: 'request', endpoints, read })

/** Not there: 404. */
export const removeEndpoints = (...endpoints: string[]): Rule => ({ kind: 'endpoint', endpoints })

export const renameErrorCode = (from: ChatErrorCode, to: ChatErrorCode, endpoint: string): Rule => ({
  kind: 'code',
  endpoint,
  from,
  to,
})

/** With this parameter, which is the path of another endpoint now, that one is meant. */
export const redirectEndpoint = (endpoint: string, parameter: string, other: string): Rule => ({
  kind: 'other',
  endpoint,
  parameter,
  other,
})
