/** Uptime Kuma's webhook notification. Contract section 3.5.2. */

import { z } from 'zod'
import { type Integration, parse, UnsupportedEvent } from './integration.ts'
import { inLine, labeled } from './text.ts'

const PAYLOAD = z.object({
  heartbeat: z.object({ status: z.int(), msg: z.string().nullish(), ping: z.number().nullish() }).nullable(),
  monitor: z.object({ name: z.string(), url: z.string().nullish() }).nullable(),
  msg: z.string(),
})

const EVENTS = ['down', 'up', 'pending', 'maintenance'] as const
const SENTENCES = {
  down: ':cross_mark: $ is **down**',
  up: ':check: $ is **up**',
  pending: ':warning: $ may be down and is being tried again',
  maintenance: ':tools: $ is under maintenance',
}

export const uptimekuma: Integration = {
  name: 'uptimekuma',
  displayName: 'Uptime Kuma',
  events: [...EVENTS, 'test'],
  mentions: 'kept',
  read({ payload }) {
    const { heartbeat, monitor, msg } = parse(PAYLOAD, payload)
    if (heartbeat === null || monitor === null)
      return { event: 'test', messages: [{ topic: 'Uptime Kuma', text: `Test: ${inLine(msg)}` }] }
    const event = EVENTS[heartbeat.status]
    if (event === undefined) throw new UnsupportedEvent(String(heartbeat.status))
    const reason = heartbeat.msg ? `: ${inLine(heartbeat.msg)}` : ''
    const sentence = SENTENCES[event].replace('$', () => labeled(monitor.name, monitor.url))
    return { event, messages: [{ topic: monitor.name, text: `${sentence}${reason}` }] }
  },
}
