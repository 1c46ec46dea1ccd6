/** Current metrics, and their history of the last hour in this tab. Contract section 4.8. */

import { signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Api } from '../api.ts'
import { bytes, count, duration } from '../format.ts'
import { Copyable } from '../parts/controls.tsx'
import { Card, Columns, Fact, type ViewProps } from '../parts/frame.tsx'
import { Problem } from '../parts/loading.tsx'
import { Sparkline } from '../parts/sparkline.tsx'
import { type Numbers, rates, type Sample } from '../series.ts'
import * as words from '../words.ts'

const EVERY_MS = 5000
const SAMPLES_MAX = 720 // an hour

/** Module state: the samples outlive the view while the tab is open. */
const samples = signal<readonly Sample[]>([])

export const MetricsPage = ({ account, api }: ViewProps) => (
  <>
    <Figures api={api} />
    <Card title={words.metricsPrometheus}>
      <p>{words.metricsPrometheusText}</p>
      <Copyable label={words.metricsPrometheus} text={prometheusText(location, account.user)} save="prometheus.yml" />
    </Card>
  </>
)

export const prometheusText = ({ host }: { host: string }, user: string): string => `scrape_configs:
  - job_name: coffer
    scheme: https
    metrics_path: /api/v1/metrics
    basic_auth:
      username: ${JSON.stringify(user)}
      password_file: coffer-passphrase
    tls_config:
      insecure_skip_verify: true  # or ca_file, once a certificate is installed
    static_configs:
      - targets: [${JSON.stringify(host)}]
`

function Figures({ api }: { api: Api }) {
  const error = useSignal<unknown>(null)
  useEffect(() => {
    let open = true
    const take = async () => {
      try {
        const found = await api.get<Record<string, string>>('/metrics')
        if (!open) return
        const numbers = Object.fromEntries(Object.entries(found).map(([name, value]) => [name, Number(value)]))
        samples.value = [...samples.value, { at: Date.now(), numbers }].slice(-SAMPLES_MAX)
        error.value = null
      } catch (problem) {
        if (open) error.value = problem
      }
    }
    void take()
    const timer = setInterval(take, EVERY_MS)
    return () => {
      open = false
      clearInterval(timer)
    }
  }, [])
  const now = samples.value.at(-1)?.numbers
  if (now === undefined) return error.value ? <Problem error={error.value} /> : <p class="hint">{words.loading}</p>
  const operations = (numbers: Numbers) =>
    ['sign', 'decrypt', 'encrypt', 'generate'].reduce((sum, name) => sum + (numbers[name] ?? 0), 0)
  const perSecond = (value: number) => value.toFixed(1)
  return (
    <>
      <Problem error={error.value} />
      <div class="grid">
        <Line
          name={words.metricsRequests}
          values={rates(samples.value, (numbers) => numbers['http response total'] ?? 0)}
          show={perSecond}
        />
        <Line name={words.metricsOperations} values={rates(samples.value, operations)} show={perSecond} />
        <Line
          name={words.metricsLatency}
          values={samples.value.map(({ numbers }) => 1000 * (numbers['http response time'] ?? 0))}
          show={words.metricsMilliseconds}
        />
        <Line
          name={words.metricsMemory}
          values={samples.value.map(({ numbers }) => numbers['gc major bytes'] ?? 0)}
          show={bytes}
        />
      </div>
      <Card>
        <dl class="facts">
          <Fact name={words.metricsUptime}>{duration(now.uptime ?? 0)}</Fact>
          <Fact name={words.metricsWarnings}>{count(now['log warnings'] ?? 0)}</Fact>
          <Fact name={words.metricsErrors}>{count(now['log errors'] ?? 0)}</Fact>
        </dl>
      </Card>
      <Card>
        <table>
          <caption>{words.metricsByStatus}</caption>
          <Columns names={[words.metricsStatus, words.metricsNumber]} />
          <tbody>
            {Object.entries(now)
              .flatMap(([name, value]) => {
                const status = /^http response (\d+)$/.exec(name)?.[1]
                return status ? [[status, value] as const] : []
              })
              .map(([status, value]) => (
                <tr key={status}>
                  <th scope="row">{status}</th>
                  <td data-name={words.metricsNumber}>{count(value)}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </Card>
    </>
  )
}

function Line({ name, values, show }: { name: string; values: readonly number[]; show: (value: number) => string }) {
  const now = show(values.at(-1) ?? 0)
  return (
    <section class="card figure">
      <span>{name}</span>
      <strong>{now}</strong>
      <Sparkline values={values} label={words.metricsLine(name, now, values.length)} />
    </section>
  )
}
