/** The metrics in the text format of Prometheus, version 0.0.4. */

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

interface Family {
  name: string
  type: 'counter' | 'gauge'
  help: string
  /** Labels of the sample of a name in `GET /metrics`; sums and repetitions there have none here. */
  samples: (name: string) => string | undefined
}

const only = (wanted: string) => (name: string) => (name === wanted ? '' : undefined)

/** One sample for each metric of `values`, which tells the value of its label. */
const labelled = (label: string, values: Readonly<Record<string, string>>) => (name: string) =>
  Object.hasOwn(values, name) ? `{${label}="${values[name]}"}` : undefined

const same = (...names: string[]) => Object.fromEntries(names.map((name) => [name, name]))

const FAMILIES: readonly Family[] = [
  { name: 'coffer_uptime_seconds', type: 'gauge', help: 'Time since the start.', samples: only('uptime') },
  {
    name: 'coffer_http_responses_total',
    type: 'counter',
    help: 'Responses by status.',
    samples: (name) => {
      const status = /^http response (\d{3})$/.exec(name)?.[1]
      return status && `{status="${status}"}`
    },
  },
  {
    name: 'coffer_http_response_seconds',
    type: 'gauge',
    help: 'Smoothed time of a response.',
    samples: only('http response time'),
  },
  {
    name: 'coffer_store_writes_total',
    type: 'counter',
    help: 'Write transactions of the store.',
    samples: only('kv write'),
  },
  {
    name: 'coffer_log_entries_total',
    type: 'counter',
    help: 'Warnings and errors in the log.',
    samples: labelled('level', { 'log warnings': 'warning', 'log errors': 'error' }),
  },
  { name: 'coffer_heap_bytes', type: 'gauge', help: 'Managed memory in use.', samples: only('gc major bytes') },
  {
    name: 'coffer_gc_collections_total',
    type: 'counter',
    help: 'Collections of the managed memory.',
    samples: labelled('kind', { 'gc major collections': 'major', 'gc minor collections': 'minor' }),
  },
  {
    name: 'coffer_key_operations_total',
    type: 'counter',
    help: 'Successful operations with keys.',
    samples: labelled('operation', same('generate', 'sign', 'decrypt', 'encrypt')),
  },
]

export function prometheusText(metrics: Readonly<Record<string, string>>): string {
  const lines = FAMILIES.flatMap(({ name, type, help, samples }) => {
    const values = Object.entries(metrics).flatMap(([metric, value]) => {
      const labels = samples(metric)
      return labels === undefined ? [] : [`${name}${labels} ${value}`]
    })
    return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...values]
  })
  return `${lines.join('\n')}\n`
}
