/** Registering for events and getting them. Contract sections 3.1 and 4. */

import { z } from 'zod'
import { ChatError } from '../error.ts'
import { CAPABILITIES, type Capability } from '../events/shapes.ts'
import { withText } from '../http/envelope.ts'
import { boolean, integer, json, naturalNumber, nullable, oneOf, text, texts } from '../http/parameters.ts'
import { register } from '../register/register.ts'
import { type AnyDeclaration, declare, declareOpen } from './declare.ts'
import { reader } from './spectators.ts'

const LIFESPAN_S = { default: 600, max: 604_800 } as const

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
    row: 'E6',
    method: 'POST',
    path: '/register',
    who: 'anyone',
    parameters: {
      event_types: nullable(texts()),
      fetch_event_types: nullable(texts()),
      all_public_streams: boolean().default(false),
      narrow: json(z.array(z.tuple([z.string(), z.union([z.string(), z.int(), z.array(z.int())])]))).default([]),
      apply_markdown: boolean().default(false),
      client_gravatar: boolean().default(true),
      include_subscribers: oneOf('true', 'false', 'partial').default('false'),
      slim_presence: boolean().default(false),
      presence_history_limit_days: naturalNumber().default(14),
      client_capabilities: json(capabilities).optional(),
      queue_lifespan_secs: naturalNumber()
        .where((seconds) => seconds <= LIFESPAN_S.max, `must be at most ${LIFESPAN_S.max}`)
        .default(LIFESPAN_S.default),
    },
    handle: ({ realm, me, given, client, level, exchange, generation }) =>
      register(realm, reader(realm, me), {
        eventTypes: given.event_types,
        fetchEventTypes: given.fetch_event_types,
        allPublicStreams: given.all_public_streams,
        narrow: given.narrow.map(([operator, operand]) => [operator, String(operand)] as const),
        applyMarkdown: given.apply_markdown,
        clientGravatar: given.client_gravatar,
        includeSubscribers: given.include_subscribers,
        slimPresence: given.slim_presence,
        presenceHistoryLimitDays: given.presence_history_limit_days,
        capabilities: given.client_capabilities ?? {},
        lifespanS: given.queue_lifespan_secs,
        level,
        client,
        host: exchange.header('host'),
        generation,
      }),
  }),
  declare({
    row: 'E7',
    method: 'GET',
    path: '/events',
    who: 'account',
    parameters: { queue_id: text(), last_event_id: integer(), dont_block: boolean().default(false) },
    handle: async ({ realm, me, given, exchange, check }) => {
      const queue = realm.events.find(given.queue_id, me.id)
      const onGone = (listener: () => void) => exchange.signal().addEventListener('abort', listener, { once: true })
      const events = await realm.events.poll(queue, given.last_event_id, given.dont_block, onGone)
      expectAdmitted(check)
      return withText('events', events, { queue_id: queue.id })
    },
  }),
  declare({
    row: 'E8',
    method: 'DELETE',
    path: '/events',
    who: 'account',
    parameters: { queue_id: text() },
    handle: ({ realm, me, given }) => {
      realm.events.drop(realm.events.find(given.queue_id, me.id))
      return {}
    },
  }),
]

/** Nothing is told to whoever lost his account or his key while he waited, but that the organization ends is. */
function expectAdmitted(check: () => void): void {
  try {
    check()
  } catch (error) {
    if (!(error instanceof ChatError) || error.code !== 'REALM_DEACTIVATED') throw error
  }
}
