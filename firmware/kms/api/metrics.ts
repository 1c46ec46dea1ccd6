/** `/metrics`: a flat JSON object of strings, or Prometheus text. Contract sections 3.1 and 4.8. */

import * as z from 'zod'
import { STATES } from '../../base/states.ts'
import type { Traffic } from '../../http/server/traffic.ts'
import type { Caller } from '../domain/roles.ts'
import { alertMetrics } from './alerts.ts'
import { chatMetrics } from './chat-metrics.ts'
import { type Family, type Metric, PROMETHEUS_TYPE, prometheusText } from './prometheus.ts'
import { declare, OPERATIONAL, type Services } from './services.ts'

const DECIMALS = 6 // microseconds

const family = (name: string, type: Family['type'], help: string): Family => ({ name: `coffer_${name}`, type, help })

const UPTIME = family('uptime_seconds', 'gauge', 'Time since the start.')
const RESPONSES = family('http_responses_total', 'counter', 'Responses by status.')
const RESPONSE_TIME = family('http_response_seconds', 'gauge', 'Smoothed time of a response.')
const WRITES = family('store_writes_total', 'counter', 'Write transactions of the store.')
const LOG_ENTRIES = family('log_entries_total', 'counter', 'Warnings and errors in the log.')
const HEAP = family('heap_bytes', 'gauge', 'Managed memory in use.')
const COLLECTIONS = family('gc_collections_total', 'counter', 'Collections of the managed memory.')
const OPERATIONS = family('key_operations_total', 'counter', 'Successful operations with keys.')
const STATE = family('state', 'gauge', 'Whether the appliance is in this state.')
const KEYS = family('keys', 'gauge', "Keys; for users of a namespace, the namespace's.")
const KEY_VERSIONS = family('key_versions', 'gauge', "Versions of keys; for users of a namespace, the namespace's.")
const USERS = family('users', 'gauge', "Users; for users of a namespace, the namespace's.")
const ACCESS_KEYS = family('access_keys', 'gauge', "Access keys; for users of a namespace, the namespace's.")
const WIRE_REQUESTS = family('wire_requests_total', 'counter', 'Requests by API.')
const CERTIFICATE_END = family('tls_certificate_end_timestamp_seconds', 'gauge', 'End of the TLS certificate.')
const LAST_BACKUP = family('last_backup_timestamp_seconds', 'gauge', 'When the last backup was made; 0 for never.')
const DISK_BYTES = family('disk_bytes', 'gauge', 'Size of the disk that the store lies on.')
const DISK_FREE = family('disk_free_bytes', 'gauge', 'Free space on that disk.')
const DISK_RESERVE = family(
  'disk_reserve_bytes',
  'gauge',
  'Free space below which keys, users and namespaces are refused.',
)
const CLUSTER_MEMBERS = family('cluster_members', 'gauge', 'Members of the cluster, learners and witnesses among them.')
const CLUSTER_QUORUM = family('cluster_quorum', 'gauge', 'Whether the other nodes of the cluster answer.')
const CLUSTER_LEADER = family('cluster_leader', 'gauge', "Whether this node's etcd leads.")
const CLUSTER_APPLIED = family('cluster_applied', 'gauge', 'Number of the change that this node has adopted last.')
const CLUSTER_BEHIND = family(
  'cluster_behind_seconds',
  'gauge',
  'Time since this node had what the others have, 0 while it has.',
)
const CLUSTER_CONFLICTS = family('cluster_conflicts_total', 'counter', 'Changes that another node came before.')
const CLUSTER_REFUSED = family('cluster_refused_total', 'counter', 'Whether what the cluster holds was refused.')
const CLUSTER_FULL = family('cluster_full', 'gauge', 'Whether nothing can be changed for want of room in etcd.')
const CLUSTER_BYTES = family('cluster_etcd_bytes', 'gauge', "Size of the database of this node's etcd.")
const DURATIONS = family('http_response_duration_seconds', 'histogram', 'Times of responses.')

interface NamedMetric extends Metric {
  name: string
}

/** In the order of the answer. Sums and repetitions have no family: Prometheus computes them itself. */
function metricsOf({ appliance, log, traffic, activity, runtime }: Services): NamedMetric[] {
  const byStatus = [...traffic.byStatus].map(([status, value]): NamedMetric => {
    return { name: `http response ${status}`, value, family: RESPONSES, label: ['status', `${status}`] }
  })
  const operations = Object.entries(activity).map(([name, value]): NamedMetric => {
    return { name, value, family: OPERATIONS, label: ['operation', name] }
  })
  const { majorCollections, minorCollections } = runtime
  return [
    { name: 'uptime', value: Math.floor(runtime.uptimeSeconds), family: UPTIME },
    { name: 'http response total', value: traffic.total },
    ...byStatus,
    { name: 'http response time', value: Number(traffic.responseSeconds.toFixed(DECIMALS)), family: RESPONSE_TIME },
    { name: 'kv write', value: appliance.writes, family: WRITES },
    { name: 'log warnings', value: log.counts.warning, family: LOG_ENTRIES, label: ['level', 'warning'] },
    { name: 'log errors', value: log.counts.error, family: LOG_ENTRIES, label: ['level', 'error'] },
    // Every major collection of this runtime may compact; the runtime does not report whether it did.
    { name: 'gc compactions', value: majorCollections },
    { name: 'gc major bytes', value: runtime.heapBytes, family: HEAP },
    { name: 'gc major collections', value: majorCollections, family: COLLECTIONS, label: ['kind', 'major'] },
    { name: 'gc minor collections', value: minorCollections, family: COLLECTIONS, label: ['kind', 'minor'] },
    ...operations,
  ]
}

/** Further metrics; the reference's JSON has no members for them. */
function figuresOf({ appliance, traffic, wireRequests }: Services, { namespace }: Caller): Metric[] {
  const { users, keys, accessKeys } = appliance.open()
  const now = appliance.state
  return [
    ...STATES.map((state): Metric => ({ value: Number(state === now), family: STATE, label: ['state', state] })),
    { value: keys.size(namespace), family: KEYS },
    { value: keys.versionCount(namespace), family: KEY_VERSIONS },
    { value: users.size(namespace), family: USERS },
    { value: accessKeys.size(namespace), family: ACCESS_KEYS },
    ...Object.entries(wireRequests).map(
      ([wire, value]): Metric => ({ value, family: WIRE_REQUESTS, label: ['wire', wire] }),
    ),
    { value: appliance.configuration.tls.endMs / 1000, family: CERTIFICATE_END },
    { value: (appliance.backups.lastMs ?? 0) / 1000, family: LAST_BACKUP },
    ...histogramOf(traffic),
  ]
}

/** Returns none to users of a namespace. */
function diskFigures({ appliance }: Services, { namespace }: Caller): Metric[] {
  if (namespace !== '') return []
  const { totalBytes, freeBytes } = appliance.space.usage()
  return [
    { value: totalBytes, family: DISK_BYTES },
    { value: freeBytes, family: DISK_FREE },
    { value: appliance.space.reserveBytes(), family: DISK_RESERVE },
  ]
}

/** Returns none on a standalone node, and none to users of a namespace. */
async function clusterFigures({ appliance }: Services, { namespace }: Caller): Promise<Metric[]> {
  const { replica, cluster } = appliance
  if (replica === null || namespace !== '') return []
  const told = await replica.figures()
  return [
    { value: Number(replica.state === 'following'), family: CLUSTER_QUORUM },
    { value: replica.n, family: CLUSTER_APPLIED },
    { value: replica.behindMs / 1000, family: CLUSTER_BEHIND },
    { value: replica.conflicts, family: CLUSTER_CONFLICTS },
    { value: Number(replica.refusal !== null), family: CLUSTER_REFUSED },
    { value: Number(cluster.node.spaceProblem !== null), family: CLUSTER_FULL },
    ...(told === null
      ? []
      : [
          { value: told.members, family: CLUSTER_MEMBERS },
          { value: Number(told.isLeader), family: CLUSTER_LEADER },
          { value: told.databaseBytes, family: CLUSTER_BYTES },
        ]),
  ]
}

/** Each bucket includes all smaller ones. */
function histogramOf({ durations, total, totalSeconds }: Traffic): Metric[] {
  let sum = 0
  const buckets = durations.map(({ boundSeconds, count }): Metric => {
    sum += count
    const bound = Number.isFinite(boundSeconds) ? `${boundSeconds}` : '+Inf'
    return { value: sum, family: DURATIONS, label: ['le', bound], suffix: '_bucket' }
  })
  return [
    ...buckets,
    { value: Number(totalSeconds.toFixed(DECIMALS)), family: DURATIONS, suffix: '_sum' },
    { value: total, family: DURATIONS, suffix: '_count' },
  ]
}

/** Formats numbers; the response time keeps all its decimals. */
const textOf = ({ value, family }: NamedMetric): string =>
  family === RESPONSE_TIME ? value.toFixed(DECIMALS) : `${value}`

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
      textType: PROMETHEUS_TYPE,
    },
    handle: async ({ services, caller }) => {
      // First, because the appliance may be locked during the wait. Users of a namespace do not get it.
      const chat = services.chat !== undefined && caller.namespace === '' ? await chatMetrics(services.chat) : []
      const cluster = await clusterFigures(services, caller)
      const metrics = metricsOf(services)
      const figures = [
        ...figuresOf(services, caller),
        ...diskFigures(services, caller),
        ...alertMetrics(services, caller),
      ]
      const json = Object.fromEntries(metrics.map((metric) => [metric.name, textOf(metric)]))
      return { status: 200, json, text: () => prometheusText([...metrics, ...figures, ...cluster, ...chat]) }
    },
  }),
]
