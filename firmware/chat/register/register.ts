/** Takes the snapshot and creates the queue that continues it in one synchronous step, so that no event is missed or duplicated. */

import { badRequest } from '../base/error.ts'
import { VERSION } from '../base/version.ts'
import { CAPABILITIES, type Capability, internShape } from '../events/shapes.ts'
import { expectQueueNarrow } from '../realm/messages/narrows.ts'
import type { Realm } from '../realm/model/realm.ts'
import type { User } from '../realm/model/records.ts'
import { BLOCKS } from './blocks.ts'
import type { OpenContext } from './section.ts'
import { SPECTATOR_BLOCKS } from './spectator.ts'

interface Registration {
  eventTypes: readonly string[] | undefined
  fetchEventTypes: readonly string[] | undefined
  allPublicStreams: boolean
  narrow: readonly (readonly [operator: string, operand: string])[]
  applyMarkdown: boolean
  clientGravatar: boolean
  includeSubscribers: 'true' | 'false' | 'partial'
  slimPresence: boolean
  presenceHistoryLimitDays: number
  capabilities: Readonly<Partial<Record<Capability, boolean | undefined>>>
  lifespanS: number
  level: number | null
  client: string
  host: string | undefined
  generation: number
}

/**
 * `me` is null for a spectator, who gets no queue. Throws `BAD_NARROW`, and `BAD_REQUEST` for a spectator who asks for Gravatar avatars.
 */
export function register(realm: Realm, me: User | null, registration: Registration): Record<string, unknown> {
  const { eventTypes, capabilities } = registration
  expectQueueNarrow(registration.narrow)
  const can = Object.fromEntries(CAPABILITIES.map((name) => [name, capabilities[name] ?? false])) as Record<
    Capability,
    boolean
  >
  const { applyMarkdown, clientGravatar, slimPresence, level } = registration
  const shape = internShape({ applyMarkdown, clientGravatar, slimPresence, level, can })
  const fetched = registration.fetchEventTypes ?? eventTypes ?? null
  const wants = (block: string): boolean => fetched === null || fetched.includes(block)
  const context: OpenContext = { ...registration, realm, shape, wants }
  const answer: Record<string, unknown> = { ...VERSION }
  if (me === null) {
    if (clientGravatar) throw badRequest("Invalid 'client_gravatar' parameter for anonymous request")
    for (const [name, block] of Object.entries(SPECTATOR_BLOCKS)) if (wants(name)) Object.assign(answer, block(context))
    return { queue_id: null, last_event_id: -1, ...answer }
  }
  for (const [name, block] of Object.entries(BLOCKS)) if (wants(name)) Object.assign(answer, block({ ...context, me }))
  const queue = realm.events.register({
    userId: me.id,
    shape,
    eventTypes: eventTypes === undefined ? null : new Set(eventTypes),
    allPublicStreams: registration.allPublicStreams,
    narrow: registration.narrow,
    clientName: registration.client,
    lifespanMs: registration.lifespanS * 1000,
  })
  return { queue_id: queue.id, last_event_id: -1, idle_queue_timeout_secs: registration.lifespanS, ...answer }
}
