/** Rules that adapt requests, answers and events to clients of an older level. Contract section 8. */

import { type ChatErrorCode, invalidParameter } from '../base/error.ts'
import type { Shape } from '../events/shapes.ts'
import type { Realm } from '../realm/model/realm.ts'
import type { User } from '../realm/model/records.ts'

// biome-ignore lint/suspicious/noExplicitAny: answers and events as JSON, whose members rules look at by name
export type Json = any

export interface RequestContext {
  readonly realm: Realm
  /** Declared by the client. */
  readonly level: number
  readonly values: ReadonlyMap<string, string>
  /** Throws once the caller is no longer authorized. */
  me(): User | null
}

export interface EventContext {
  readonly realm: Realm
  readonly level: number
  readonly shape: Shape
  readonly to: Iterable<number> | 'everyone'
  readonly cause: string | undefined
}

type Context = RequestContext | EventContext

/** Objects in the answer of an endpoint, such as `PATCH /realm`, or in events of a type or `type/op`. */
export interface RuleTarget {
  readonly answer?: string
  readonly event?: string
  /** Path to the objects; `*` selects each member. */
  readonly path?: readonly string[]
  readonly prefix?: string
  /** Names of the event's members that hold the name and the value of the one changed property. */
  readonly pair?: readonly [name: string, value: string]
  /** True for an event that is dropped if the rule leaves no members. */
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

/** Replaces old names and values by current ones. Unknown names go to `ignored`. */
export type ReadRequest = (
  values: Map<string, string>,
  ignored: string[],
  realm: Realm,
  path: Readonly<Record<string, unknown>>,
) => void

export interface LevelChange {
  readonly level: number
  /** Older levels that also have the change. */
  readonly backported?: readonly number[]
  readonly rules: readonly Rule[]
}

export const levelChange = (level: number, ...rules: Rule[]): LevelChange => ({ level, rules })

export const removeFields = (names: readonly string[], surface: Targets): Rule =>
  edit(surface, (object, _, prefix) => {
    for (const name of names) delete object[prefix + name]
  })

/** Adds a removed member to objects that have the member `beside`. */
export const addField = (name: string, beside: string, value: (realm: Realm) => unknown, surface: Targets): Rule =>
  edit(surface, (object, { realm }) => {
    if (beside in object) object[name] = value(realm)
  })

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

/** General rule, where no other fits. */
export const edit = (surface: Targets, edit: RuleEdit): Rule => ({ kind: 'edit', surface, edit })

/** Modifies answers only, with access to the caller. */
export const editAnswer = (surface: Targets, edit: (body: Json, asking: RequestContext) => void): Rule => ({
  kind: 'edit',
  surface,
  edit: (body, context) => edit(body, context as RequestContext),
})

export const dropEvent = (type: string, test?: Test<Json>): Rule => ({
  kind: 'event',
  type,
  isWhole: test === undefined && !type.includes('/'),
  others: [],
  rewrite: (event, told) => (test === undefined || test(event, told) ? [] : [event]),
})

/** Replaces events by others, of the types `others` or of the same type. */
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

/** Reports the parameters as ignored. */
export const removeParameters = (names: readonly string[], ...endpoints: string[]): Rule =>
  request(endpoints, (values, ignored) => {
    for (const name of names) if (values.delete(name)) ignored.push(name)
  })

/** Accepts the old name instead of the new one; `convert` makes the value a current one. */
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

export const defaultParameter = (
  name: string,
  value: string,
  test: (values: ReadonlyMap<string, string>) => boolean,
  endpoint: string,
): Rule =>
  request([endpoint], (values) => {
    if (!values.has(name) && test(values)) values.set(name, value)
  })

export const rejectValue = (name: string, test: (raw: string) => boolean, ...endpoints: string[]): Rule =>
  request(endpoints, (values) => {
    const raw = values.get(name)
    if (raw !== undefined && test(raw))
      throw invalidParameter(name, `${name} has a value that this level does not know`)
  })

export const request = (endpoints: readonly string[], read: ReadRequest): Rule => ({ kind: 'request', endpoints, read })

/** Answers 404. */
export const removeEndpoints = (...endpoints: string[]): Rule => ({ kind: 'endpoint', endpoints })

export const renameErrorCode = (from: ChatErrorCode, to: ChatErrorCode, endpoint: string): Rule => ({
  kind: 'code',
  endpoint,
  from,
  to,
})

/** Redirects requests with this parameter to the endpoint `other`, whose path has it now. */
export const redirectEndpoint = (endpoint: string, parameter: string, other: string): Rule => ({
  kind: 'other',
  endpoint,
  parameter,
  other,
})
