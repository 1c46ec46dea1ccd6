/** Metrics in the text format of Prometheus, version 0.0.4: prometheus.io/docs/instrumenting/exposition_formats. */

import { defined } from '../../base/defined.ts'

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export interface Family {
  name: string
  type: 'counter' | 'gauge' | 'histogram'
  help: string
}

export interface Metric {
  value: number
  /** Metrics without a family are not sent to Prometheus. */
  family?: Family
  /** Distinguishes metrics of one family. */
  label?: readonly [name: string, value: string]
  suffix?: '_bucket' | '_sum' | '_count'
}

export function prometheusText(metrics: readonly Metric[]): string {
  const families = new Set(metrics.flatMap(({ family }) => family ?? []))
  const lines = [...families].flatMap((family) => {
    const { name, type, help } = family
    const samples = metrics.filter((metric) => metric.family === family).map(sampleOf)
    return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples]
  })
  return `${lines.join('\n')}\n`
}

/** Our labels need no escaping. */
function sampleOf({ family, label, suffix, value }: Metric): string {
  const labels = label === undefined ? '' : `{${label[0]}="${label[1]}"}`
  return `${defined(family).name}${suffix ?? ''}${labels} ${value}`
}
