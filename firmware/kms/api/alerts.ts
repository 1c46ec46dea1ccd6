/** `/alerts`: conditions that need attention. Contract sections 3.5 and 7.10. */

import * as z from 'zod'
import { ALERT_IDS } from '../../alerts/conditions.ts'
import { formatTime } from '../../base/clock.ts'
import type { Caller } from '../domain/roles.ts'
import type { Family, Metric } from './prometheus.ts'
import { timestamp } from './schema.ts'
import { declare, OPERATIONAL, ROOT_ADMINISTRATORS, type Services } from './services.ts'

const alert = z
  .object({
    id: z.enum(ALERT_IDS),
    level: z.enum(['warning', 'critical']),
    since: timestamp.meta({ description: 'When it was noticed after the last start.' }),
    text: z.string(),
  })
  .meta({ id: 'Alert' })

const ALERT: Family = {
  name: 'coffer_alert',
  type: 'gauge',
  help: 'Whether a condition needs attention: 0 for no, 1 for a warning, 2 if it is critical.',
}

/** Returns none to users of a namespace. */
export function alertMetrics({ alerts }: Services, { namespace }: Caller): Metric[] {
  if (alerts === undefined || namespace !== '') return []
  const levels = new Map(alerts.current().map(({ id, level }) => [id, level === 'critical' ? 2 : 1]))
  return ALERT_IDS.map((id) => ({ value: levels.get(id) ?? 0, family: ALERT, label: ['id', id] }))
}

export const alertDeclarations = [
  declare({
    method: 'GET',
    path: '/alerts',
    summary: 'Conditions that need attention, each since when.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    noCache: true,
    answers: { status: 200, json: z.array(alert) },
    handle: ({ services: { alerts } }) => ({
      status: 200,
      json: (alerts?.current() ?? []).map(({ id, level, sinceMs, text }) => ({
        id,
        level,
        since: formatTime(sinceMs),
        text,
      })),
    }),
  }),
]
