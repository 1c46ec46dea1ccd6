/** Registering event queues and polling them. Contract sections 3.1 and 4. */

import { z } from 'zod'
import { ChatError, confusingParameters } from '../base/error.ts'
import { CAPABILITIES, type Capability } from '../events/shapes.ts'
import { withText } from '../pipeline/envelope.ts'
import { boolean, integer, json, jsonOrTextOf, naturalNumber, nullable, oneOf, text } from '../pipeline/parameters.ts'
import { register } from '../register/register.ts'
import { type AnyDeclaration, declare, declareOpen } from './declare.ts'
import { reader } from './spectators.ts'

const LIFESPAN_S = { default: 600, mobile: 43_200, max: 604_800 } as const

// These bounds limit the memory of a queue; a user may have dozens of queues.
const TYPES_MAX = 500
const TYPE_CHARACTERS_MAX = 100
const TERMS_MAX = 100 // each is checked for every message, as in narrows of messages
const OPERAND_CHARACTERS_MAX = 1000

/** Seconds. `mobile` stands for the longest time that a phone app may stay in the background. */
const idleTimeout = jsonOrTextOf(
  z.union([z.literal('mobile'), z.number().min(1).refine(Number.isInteger, 'must be a whole number')]),
).map((given) => (given === 'mobile' ? LIFESPAN_S.mobile : Math.min(given, LIFESPAN_S.max)))

/** `queue_lifespan_secs` is the name before level 481. Its values are not capped. */
function lifespanOf(idleTimeout: number | undefined, lifespan: number | undefined): number {
  if (idleTimeout !== undefined && lifespan !== undefined)
    throw confusingParameters('idle_queue_timeout', 'queue_lifespan_secs')
  return idleTimeout ?? lifespan ?? LIFESPAN_S.default
}

const types = () => nullable(json(z.array(z.string().max(TYPE_CHARACTERS_MAX)).max(TYPES_MAX)))

const TERM = z.tuple([
  z.string().max(OPERAND_CHARACTERS_MAX),
  z.union([z.string().max(OPERAND_CHARACTERS_MAX), z.int(), z.array(z.int()).max(TERMS_MAX)]),
])

const capabilities = z
  .object(
    Object.fromEntries(CAPABILITIES.map((name) => [name, z.boolean().optional()])) as Record<
      Capability,
      z.ZodOptional<z.ZodBoolean>
    >,
  )
  .extend({ notification_settings_null: z.boolean() })

export const eventDeclarations: readonly AnyDeclaration[] = [
  declareOpen({
    method: 'POST',
    path: '/register',
    isExpensive: true,
    usesReserve: true,
    who: 'anyone',
    parameters: {
      event_types: types(),
      fetch_event_types: types(),
      all_public_streams: boolean().default(false),
      narrow: json(z.array(TERM).max(TERMS_MAX)).default([]),
      apply_markdown: boolean().default(false),
      client_gravatar: boolean().default(true),
      include_subscribers: oneOf('true', 'false', 'partial').default('false'),
      slim_presence: boolean().default(false),
      presence_history_limit_days: naturalNumber().default(14),
      client_capabilities: json(capabilities).optional(),
      idle_queue_timeout: idleTimeout.optional(),
      queue_lifespan_secs: naturalNumber()
        .where((seconds) => seconds <= LIFESPAN_S.max, `must be at most ${LIFESPAN_S.max}`)
        .optional(),
    },
    handle: ({ realm, me, input, client, level, exchange, generation }) =>
      register(realm, reader(realm, me), {
        eventTypes: input.event_types,
        fetchEventTypes: input.fetch_event_types,
        allPublicStreams: input.all_public_streams,
        narrow: input.narrow.map(([operator, operand]) => [operator, String(operand)] as const),
        applyMarkdown: input.apply_markdown,
        clientGravatar: input.client_gravatar,
        includeSubscribers: input.include_subscribers,
        slimPresence: input.slim_presence,
        presenceHistoryLimitDays: input.presence_history_limit_days,
        capabilities: input.client_capabilities ?? {},
        lifespanS: lifespanOf(input.idle_queue_timeout, input.queue_lifespan_secs),
        level,
        client,
        host: exchange.header('host'),
        generation,
      }),
  }),
  declare({
    method: 'GET',
    path: '/events',
    who: 'account',
    parameters: { queue_id: text(), last_event_id: integer(), dont_block: boolean().default(false) },
    handle: async ({ realm, me, input, exchange, check }) => {
      const queue = realm.events.find(input.queue_id, me.id)
      const onGone = (listener: () => void) => exchange.signal().addEventListener('abort', listener, { once: true })
      const events = await realm.events.poll(queue, input.last_event_id, input.dont_block, onGone)
      expectAdmitted(check)
      return withText('events', events, { queue_id: queue.id })
    },
  }),
  declare({
    method: 'DELETE',
    path: '/events',
    who: 'account',
    parameters: { queue_id: text() },
    handle: ({ realm, me, input }) => {
      realm.events.drop(realm.events.find(input.queue_id, me.id))
      return {}
    },
  }),
]

/** Throws if the account or the key was revoked during the poll. A deactivated organization passes: its clients still get that event. */
function expectAdmitted(check: () => void): void {
  try {
    check()
  } catch (error) {
    if (!(error instanceof ChatError) || error.code !== 'REALM_DEACTIVATED') throw error
  }
}
