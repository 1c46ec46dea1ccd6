/** Hubs of event queues for tests of their memory, with the clock of the test. */

import { afterEach } from 'node:test'
import { createEventHub, type EventHub } from '../../../firmware/chat/events/hub.ts'
import type { Queue, QueueOptions } from '../../../firmware/chat/events/queue.ts'
import { CAPABILITIES, type Capability, internShape } from '../../../firmware/chat/events/shapes.ts'

const SHAPE = internShape({
  applyMarkdown: false,
  clientGravatar: true,
  slimPresence: false,
  level: null,
  can: Object.fromEntries(CAPABILITIES.map((name) => [name, false])) as Record<Capability, boolean>,
})

/** Milliseconds. */
export const clock = { now: 0 }

let hubs: EventHub[] = []
afterEach(() => {
  for (const hub of hubs) hub.close()
  hubs = []
})

type HubOptions = Pick<Parameters<typeof createEventHub>[0], 'bytesMax' | 'ownerOf'>

export function createHub(options: HubOptions): EventHub {
  let ids = 0
  const hub = createEventHub({ newQueueId: () => `q${ids++}`, nowMs: () => clock.now, ...options })
  hubs.push(hub)
  return hub
}

export const register = (hub: EventHub, userId: number, options: Partial<QueueOptions> = {}): Queue =>
  hub.register({
    userId,
    shape: SHAPE,
    eventTypes: null,
    allPublicStreams: false,
    narrow: [],
    clientName: 'test',
    lifespanMs: 600_000,
    ...options,
  })
