/** Compiles the rules above a level into functions, one for each endpoint and event type. Contract section 8. */

import { endpointName } from '../../http/endpoint/endpoint.ts'
import { DECLARATIONS } from '../api/declarations.ts'
import type { AnyDeclaration } from '../api/declare.ts'
import type { ChatErrorCode } from '../base/error.ts'
import { VERSION } from '../base/version.ts'
import { LEVEL_CHANGES } from './changes.ts'
import {
  type EventContext,
  edit,
  type Json,
  type LevelChange,
  type ReadRequest,
  type RequestContext,
  type Rule,
  type RuleTarget,
} from './rules.ts'

/** Adaptations for clients of one level. Keys are endpoint names or event types. */
export interface CompiledChanges {
  readonly requests: ReadonlyMap<string, readonly ReadRequest[]>
  /** Modify the answer in place. */
  readonly answers: ReadonlyMap<string, (body: Json, asking: RequestContext) => void>
  /** Return the events to send instead. May modify the event in place. */
  readonly events: ReadonlyMap<string, (event: Json, told: EventContext) => readonly Json[]>
  /** Types that events of a type may be replaced by. */
  readonly otherTypes: ReadonlyMap<string, readonly string[]>
  readonly unknownTypes: ReadonlySet<string>
  /** Endpoints that the level does not have: 404. */
  readonly absent: ReadonlySet<string>
  readonly codes: readonly { endpoint: string; from: ChatErrorCode; to: ChatErrorCode }[]
  readonly others: ReadonlyMap<string, { parameter: string; declaration: AnyDeclaration }>
}

export const changesAbove = (declared: number): LevelChange[] =>
  LEVEL_CHANGES.filter(({ level, backported }) => declared < level && backported?.includes(declared) !== true)

export function compile(gates: readonly LevelChange[]): CompiledChanges {
  const rules = [LEVEL_ITSELF, ...gates.flatMap(({ rules }) => rules)]
  const of = <K extends Rule['kind']>(kind: K) => rules.filter((rule): rule is Rule & { kind: K } => rule.kind === kind)
  const requests = new Map<string, ReadRequest[]>()
  for (const { endpoints, read } of of('request').reverse())
    for (const name of endpoints) listAt(requests, name).push(read)
  const answers = new Map<string, AnswerEdit[]>()
  for (const { surface, edit } of of('edit'))
    for (const { answer, path = [], prefix = '' } of surface)
      if (answer !== undefined)
        listAt(answers, answer).push((body, asking) => visit(body, path, (object) => edit(object, asking, prefix)))
  const whole = of('event')
  return {
    requests,
    answers: new Map([...answers].map(([name, edits]) => [name, runQueued(edits)])),
    events: eventFunctions(rules),
    otherTypes: new Map(whole.filter(({ others }) => others.length > 0).map(({ type, others }) => [type, others])),
    unknownTypes: new Set(whole.filter(({ isWhole }) => isWhole).map(({ type }) => type)),
    absent: new Set(of('endpoint').flatMap(({ endpoints }) => endpoints)),
    codes: of('code'),
    others: new Map(
      of('other').map(({ endpoint, parameter, other }) => [endpoint, { parameter, declaration: declared(other) }]),
    ),
  }
}

function declared(name: string): AnyDeclaration {
  const known = DECLARATIONS.find((one) => endpointName(one) === name)
  if (known === undefined) throw new Error(`No endpoint is ${name}`)
  return known
}

const LEVEL_ITSELF = edit(
  [{ answer: 'GET /server_settings' }, { answer: 'POST /register' }, { event: 'restart' }],
  (object, { level }) => {
    for (const name of ['zulip_feature_level', 'service_feature_level'] as const)
      if (object[name] === VERSION[name]) object[name] = level
  },
)

type AnswerEdit = (body: Json, asking: RequestContext) => void
const runQueued =
  (edits: readonly AnswerEdit[]): AnswerEdit =>
  (body, asking) => {
    for (const edit of edits) edit(body, asking)
  }

interface EventStep {
  type: string
  op: string | undefined
  rewrite: (event: Json, told: EventContext) => readonly Json[]
}

/** An event replaced by one of another type continues through the rules of that type. */
function eventFunctions(rules: readonly Rule[]): CompiledChanges['events'] {
  const steps = rules.flatMap(stepsOf)
  const becomes = new Map(
    rules
      .flatMap((rule) => (rule.kind === 'event' ? [[rule.type, rule.others] as const] : []))
      .filter(([, others]) => others.length > 0),
  )
  const types = new Set(steps.map(({ type }) => type))
  return new Map(
    [...types].map((type) => {
      const names = [type, ...(becomes.get(type) ?? [])]
      const own = steps.filter((step) => names.includes(step.type))
      return [
        type,
        (event: Json, told: EventContext) =>
          own.reduce<readonly Json[]>((events, step) => take(step, events, told), [event]),
      ]
    }),
  )
}

const take = ({ type, op, rewrite }: EventStep, events: readonly Json[], told: EventContext): readonly Json[] =>
  events.flatMap((event) =>
    event.type === type && (op === undefined || event.op === op) ? rewrite(event, told) : [event],
  )

function stepsOf(rule: Rule): EventStep[] {
  if (rule.kind === 'event') return [{ ...named(rule.type), rewrite: rule.rewrite }]
  if (rule.kind !== 'edit') return []
  return rule.surface.flatMap((place) =>
    place.event === undefined
      ? []
      : [
          {
            ...named(place.event),
            rewrite: (event: Json, told: EventContext) =>
              editEvent(event, place, (object) => rule.edit(object, told, place.prefix ?? '')),
          },
        ],
  )
}

function named(key: string): { type: string; op: string | undefined } {
  const [type, op] = key.split('/') as [string, string?]
  return { type, op }
}

function editEvent(
  event: Json,
  { path = [], pair, isDict }: RuleTarget,
  edit: (object: Json) => void,
): readonly Json[] {
  if (pair === undefined) {
    visit(event, path, edit)
    const [member = ''] = path
    return isDict === true && Object.keys(event[member] ?? {}).length === 0 ? [] : [event]
  }
  const [name, value] = pair
  const object = { [event[name]]: event[value] }
  edit(object)
  return Object.entries(object).map(([now, changed]) => ({ ...event, [name]: now, [value]: changed }))
}

function visit(node: Json, path: readonly string[], edit: (object: Json) => void, depth = 0): void {
  if (typeof node !== 'object' || node === null) return
  const name = path[depth]
  if (name === undefined) edit(node)
  else if (name === '*') for (const member of Object.values(node)) visit(member, path, edit, depth + 1)
  else visit(node[name], path, edit, depth + 1)
}

function listAt<T>(lists: Map<string, T[]>, key: string): T[] {
  const known = lists.get(key) ?? []
  lists.set(key, known)
  return known
}
