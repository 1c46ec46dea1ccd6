/** Prometheus Alertmanager's webhook receiver, version 4 of its payload. Contract section 3.5.2. */

import { z } from 'zod'
import { grouped, messagesOf } from './alerts.ts'
import { type Integration, parse, type WebhookOptions } from './integration.ts'
import { inLine, link } from './text.ts'

const TEXTS = z.record(z.string(), z.string())

const PAYLOAD = z.object({
  alerts: z
    .array(
      z.object({
        status: z.enum(['firing', 'resolved']),
        labels: TEXTS,
        annotations: TEXTS.default({}),
        generatorURL: z.string().optional(),
      }),
    )
    .min(1),
})

type Alert = z.infer<typeof PAYLOAD>['alerts'][number]

export const alertmanager: Integration = {
  name: 'alertmanager',
  displayName: 'Prometheus Alertmanager',
  events: null,
  mentions: 'kept',
  urlOptions: [
    { key: 'name', label: 'Label by which alerts are grouped into topics (instance)', validator: 'check_string' },
    { key: 'desc', label: 'Label or annotation that names an alert (alertname)', validator: 'check_string' },
  ],
  read({ payload, options }) {
    const { alerts } = parse(PAYLOAD, payload)
    const groups = grouped(
      alerts,
      ({ labels }) => member(labels, options.name) ?? member(labels, 'alertname') ?? 'Alerts',
    )
    return {
      event: null,
      messages: messagesOf(
        groups.map(([topic, ofTopic]) => ({ topic, alerts: ofTopic.map((alert) => lineOf(alert, options)) })),
      ),
    }
  },
}

function lineOf({ status, labels, annotations, generatorURL }: Alert, { desc }: WebhookOptions): string {
  const mark = status === 'firing' ? ':alert: **Firing**' : ':check: **Resolved**'
  const name = member(labels, desc) ?? member(annotations, desc) ?? 'alert'
  const summary = member(annotations, 'summary') ?? member(annotations, 'description')
  const source = link('source', generatorURL)
  const end = source === 'source' ? '' : ` (${source})`
  return `${mark}: ${inLine(name)}${summary === undefined || summary === name ? '' : `: ${inLine(summary)}`}${end}`
}

const member = (texts: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(texts, name) && texts[name] !== '' ? texts[name] : undefined
