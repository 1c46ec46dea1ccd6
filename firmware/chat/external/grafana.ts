/** Grafana's webhook contact point, of unified alerting (version 8 and later). Contract section 3.5.2. */

import { z } from 'zod'
import { defined } from '../../base/defined.ts'
import { grouped, messagesOf } from './alerts.ts'
import { type Integration, parse } from './integration.ts'
import { inLine, link } from './text.ts'

const TEXTS = z.record(z.string(), z.string())

const PAYLOAD = z.object({
  status: z.enum(['firing', 'resolved']),
  alerts: z
    .array(
      z.object({
        status: z.enum(['firing', 'resolved']),
        labels: TEXTS,
        annotations: TEXTS.nullish(),
        generatorURL: z.string().nullish(),
        silenceURL: z.string().nullish(),
        dashboardURL: z.string().nullish(),
        panelURL: z.string().nullish(),
        valueString: z.string().nullish(),
        values: z.record(z.string(), z.number().nullable()).nullish(),
      }),
    )
    .min(1),
})

type Alert = z.infer<typeof PAYLOAD>['alerts'][number]

export const grafana: Integration = {
  name: 'grafana',
  displayName: 'Grafana',
  events: ['firing', 'resolved'],
  mentions: 'kept',
  read({ payload }) {
    const { status, alerts } = parse(PAYLOAD, payload)
    const groups = grouped(alerts, ({ labels }) => `[${labels.alertname ?? 'Alert'}]`)
    return {
      event: status,
      messages: messagesOf(groups.map(([topic, ofTopic]) => ({ topic, alerts: ofTopic.map(linesOf) }))),
    }
  },
}

function linesOf(alert: Alert): string {
  const { status, labels, annotations, values } = alert
  const mark = status === 'firing' ? ':alert: **Firing**' : ':check: **Resolved**'
  const summary = annotations?.summary ?? annotations?.description
  const numbers = Object.entries(values ?? {}).flatMap(([name, value]) =>
    value === null ? [] : [`${inLine(name)} = ${value}`],
  )
  const others = Object.entries(labels).flatMap(([name, value]) =>
    name === 'alertname' || name.startsWith('__') ? [] : [`${inLine(name)}: ${inLine(value)}`],
  )
  const links = [
    ['rule', alert.generatorURL],
    ['dashboard', alert.dashboardURL],
    ['panel', alert.panelURL],
    ['silence', alert.silenceURL],
  ].flatMap(([label, address]) => {
    const shown = link(defined(label), address)
    return shown === label ? [] : [shown]
  })
  return [
    `${mark}: ${inLine(labels.alertname ?? 'Alert')}${summary ? `: ${inLine(summary)}` : ''}`,
    ...(others.length > 0 ? [`Labels: ${others.join(', ')}`] : []),
    ...(numbers.length > 0 ? [`Values: ${numbers.join(', ')}`] : []),
    ...(links.length > 0 ? [links.join(' · ')] : []),
  ].join('\n')
}
