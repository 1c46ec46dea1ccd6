/** `sys/`: state, mounts and capabilities. CONTRACT.md, "Paths". */

import { hash } from 'node:crypto'
import { defined } from '../../base/defined.ts'
import type { ApplianceState } from '../../base/states.ts'
import { declare, OPERATIONAL, READERS, type Services } from '../api/services.ts'
import { ANSWER, answer, denied, sealed } from './answers.ts'
import { anyQuery, jsonBody } from './body.ts'

/** The version of the API, not of the build: clients compare it. */
const VERSION = '2.7.2+coffer'
const CLUSTER_NAME = 'coffer'
const COMMIT_DATE = '2026-11-28T00:00:00Z'

const ALL_STATES: readonly ApplianceState[] = ['Unprovisioned', 'Locked', 'Operational', 'Failed']

interface Asked {
  services: Services
}

const isInitialized = ({ services: { appliance } }: Asked): boolean => appliance.state !== 'Unprovisioned'
const isSealed = ({ services: { appliance } }: Asked): boolean => appliance.state !== 'Operational'

/** Always the same for this device. */
function clusterId({ services: { appliance } }: Asked): string {
  const hex = hash('sha256', `coffer cluster ${appliance.deviceId}`, 'hex')
  return [8, 12, 16, 20, 32].map((end, i, ends) => hex.slice(ends[i - 1] ?? 0, end)).join('-')
}

function health(request: Asked) {
  const [initialized, isClosed] = [isInitialized(request), isSealed(request)]
  const replication = isClosed ? 'unknown' : 'disabled'
  return {
    initialized,
    sealed: isClosed,
    standby: isClosed,
    replication_performance_mode: replication,
    replication_dr_mode: replication,
    server_time_utc: Math.floor(request.services.appliance.clock.now() / 1000),
    version: VERSION,
    ...(!isClosed && { cluster_name: CLUSTER_NAME, cluster_id: clusterId(request) }),
  }
}

/** Statuses that a client may ask for: RFC 9110 section 15. */
const CODE = /^[2-5]\d\d$/

function healthStatus(request: Asked & { query: Readonly<Record<string, string>> }): number {
  const [name, normal] = !isInitialized(request)
    ? (['uninitcode', 501] as const)
    : isSealed(request)
      ? (['sealedcode', 503] as const)
      : (['activecode', 200] as const)
  const wanted = request.query[name] ?? ''
  return CODE.test(wanted) ? Number(wanted) : normal
}

function sealStatus(request: Asked) {
  const shares = isInitialized(request) ? 1 : 0
  return {
    type: 'shamir',
    initialized: isInitialized(request),
    sealed: isSealed(request),
    t: shares,
    n: shares,
    progress: 0,
    nonce: '',
    recovery_seal: false,
    version: VERSION,
    commit_date: COMMIT_DATE,
    migration: false,
    storage_type: 'coffer',
    ...(!isSealed(request) && { cluster_name: CLUSTER_NAME, cluster_id: clusterId(request) }),
  }
}

const MOUNT = {
  accessor: 'transit_coffer',
  config: { default_lease_ttl: 0, force_no_cache: false, max_lease_ttl: 0 },
  description: 'keys of Coffer',
  external_entropy_access: false,
  local: false,
  options: null,
  seal_wrap: false,
  type: 'transit',
}

/** Rights of the roles below a path. */
const CAPABILITIES: readonly [path: RegExp, operator: readonly string[], administrator: readonly string[]][] = [
  [/^transit\/keys(\/|$)/, ['list', 'read'], ['create', 'delete', 'list', 'read', 'update']],
  [/^transit\/(encrypt|decrypt|rewrap|datakey|hmac|sign|verify|random|hash)(\/|$)/, ['update'], ['deny']],
  [/^transit\/export\/public-key(\/|$)/, ['read'], ['read']],
  [/^auth\/token\/(lookup-self)$/, ['read'], ['read']],
  [/^(auth\/token\/\w[\w-]*|sys\/capabilities-self)$/, ['update'], ['update']],
  [/^sys\/mounts$/, ['read'], ['read']],
]

function capabilities(path: string, role: string): readonly string[] {
  const [, operator, administrator] = CAPABILITIES.find(([pattern]) => pattern.test(path)) ?? []
  return (role === 'Administrator' ? administrator : operator) ?? ['deny']
}

/** `path` is one or a list, and so is `paths`. */
function pathsOf(body: Readonly<Record<string, unknown>>): string[] {
  const all = [body.paths ?? body.path ?? []].flat()
  return all.filter((path) => typeof path === 'string').slice(0, PATHS_MAX)
}

const PATHS_MAX = 1000

export const sysDeclarations = [
  declare({
    method: 'GET',
    path: '/v1/sys/health',
    summary: 'The state, also as a status that the query chooses.',
    states: ALL_STATES,
    access: 'public',
    query: anyQuery,
    answers: ANSWER,
    handle: (request) => ({ status: healthStatus(request), reply: health(request) }),
  }),
  declare({
    method: 'GET',
    path: '/v1/sys/seal-status',
    summary: 'The state as that of a seal.',
    states: ALL_STATES,
    access: 'public',
    answers: ANSWER,
    handle: (request) => ({ status: 200, reply: sealStatus(request) }),
  }),
  declare({
    method: 'GET',
    path: '/v1/sys/init',
    summary: 'Whether the appliance is provisioned.',
    states: ALL_STATES,
    access: 'public',
    answers: ANSWER,
    handle: (request) => ({ status: 200, reply: { initialized: isInitialized(request) } }),
  }),
  declare({
    method: 'GET',
    path: '/v1/sys/leader',
    summary: 'Says that there is no leader.',
    states: ALL_STATES,
    access: 'public',
    answers: ANSWER,
    handle: (request) => {
      if (!isInitialized(request)) throw sealed()
      return { status: 200, reply: { ha_enabled: false } }
    },
  }),
  declare({
    method: 'GET',
    path: '/v1/sys/mounts',
    summary: 'The one mount.',
    states: OPERATIONAL,
    access: READERS,
    answers: ANSWER,
    handle: () => answer({ 'transit/': MOUNT }, { beside: { 'transit/': MOUNT } }),
  }),
  declare({
    method: 'GET',
    path: '/v1/sys/internal/ui/mounts/:mount',
    summary: 'The mount, for the command bao.',
    states: OPERATIONAL,
    access: READERS,
    answers: ANSWER,
    handle: ({ params }) => {
      if ((params as { mount: string }).mount !== 'transit') throw denied()
      return answer({ ...MOUNT, path: 'transit/' })
    },
  }),
  declare({
    method: 'POST',
    path: '/v1/sys/capabilities-self',
    summary: 'What the caller may do at paths.',
    states: OPERATIONAL,
    access: READERS,
    audit: 'none',
    body: jsonBody,
    answers: ANSWER,
    handle: ({ body, caller }) => {
      const paths = pathsOf(body)
      const all = Object.fromEntries(paths.map((path) => [path, capabilities(path, caller.role)]))
      const of = paths.length === 1 ? { ...all, capabilities: all[defined(paths[0])] } : all
      return answer(of, { beside: of })
    },
  }),
]
