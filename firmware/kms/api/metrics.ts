/** `/metrics`: one flat object of strings, or the same for Prometheus. Contract sections 3.1 and 4.8. */

import * as z from 'zod'
import { PROMETHEUS_TYPE, prometheusText } from './prometheus.ts'
import { declare, OPERATIONAL, type Services } from './services.ts'

const DECIMALS = 6 // microseconds

function figures({ appliance, log, traffic, activity, runtime }: Services): Record<string, number | string> {
  const byStatus = [...traffic.byStatus].map(([status, count]) => [`http response ${status}`, count] as const)
  return {
    uptime: Math.floor(runtime.uptimeSeconds),
    'http response total': traffic.total,
    ...Object.fromEntries(byStatus),
    'http response time': traffic.responseSeconds.toFixed(DECIMALS),
    'kv write': appliance.writes,
    'log warnings': log.counts.warning,
    'log errors': log.counts.error,
    // Every major collection of this runtime may compact; it does not tell which did.
    'gc compactions': runtime.majorCollections,
    'gc major bytes': runtime.heapBytes,
    'gc major collections': runtime.majorCollections,
    'gc minor collections': runtime.minorCollections,
    ...activity,
  }
}

export const metricsDeclarations = [
  declare({
    method: 'GET',
    path: '/metrics',
    summary: 'Counters since the start, every value a string; for Prometheus where `accept` prefers `text/plain`.',
    states: OPERATIONAL,
    access: { roles: ['Metrics'], scope: 'any' },
    noCache: true,
    answers: {
      status: 200,
      json: z.record(z.string(), z.string()).meta({ id: 'Metrics' }),
      text: { contentType: PROMETHEUS_TYPE, render: (value) => prometheusText(value as Record<string, string>) },
    },
    handle: ({ services }) => {
      const entries = Object.entries(figures(services)).map(([name, value]) => [name, String(value)] as const)
      return { status: 200, json: Object.fromEntries(entries) }
    },
  }),
]
