/** The web application: every endpoint over one appliance. */

import { auditDeclarations } from './api/audit.ts'
import { auditEvent, kindOf } from './api/audit-event.ts'
import { backupDeclarations } from './api/backup.ts'
import { clusterDeclarations } from './api/cluster.ts'
import { configDeclarations } from './api/config.ts'
import { configNetworkDeclarations } from './api/config-network.ts'
import { configTlsDeclarations } from './api/config-tls.ts'
import { configVocabularyDeclarations } from './api/config-vocabulary.ts'
import { infoDeclarations } from './api/info.ts'
import { keyAttributeDeclarations } from './api/key-attributes.ts'
import { keyUseDeclarations } from './api/key-use.ts'
import { keyDeclarations } from './api/keys.ts'
import { lifecycleDeclarations } from './api/lifecycle.ts'
import { metricsDeclarations } from './api/metrics.ts'
import { namespaceDeclarations } from './api/namespaces.ts'
import { randomDeclarations } from './api/random.ts'
import type { ProductInfo, Services } from './api/services.ts'
import { systemDeclarations } from './api/system.ts'
import { updateDeclarations } from './api/update.ts'
import { userTagDeclarations } from './api/user-tags.ts'
import { userDeclarations } from './api/users.ts'
import type { Appliance } from './appliance.ts'
import { formatTime } from './clock.ts'
import { type Random, systemRandom } from './crypto/random.ts'
import type { AttemptLimiter } from './http/attempts.ts'
import type { Auditor } from './http/audit.ts'
import type { Declaration } from './http/endpoint.ts'
import { type Api, createApi } from './http/pipeline.ts'
import { createTraffic, type Traffic } from './http/traffic.ts'
import type { Log } from './log.ts'
import type { Machine } from './machine.ts'
import { watchRuntime } from './runtime.ts'
import { createStager } from './update/stager.ts'

export interface AppOptions {
  appliance: Appliance
  log: Log
  /** Shared with the console prompt: both count wrong unlock passphrases. */
  limiter: AttemptLimiter
  info: ProductInfo
  /** Filled by the listener. */
  traffic?: Traffic
  /** Without one, nothing is asked of the boot manager. */
  machine?: Machine
  /** Updates are refused without. */
  releaseKey?: Uint8Array | null
  random?: Random
  /** In the place of the audit log; for measuring what it costs. */
  auditor?: Auditor<Services>
}

export const DECLARATIONS: readonly Declaration<Services>[] = [
  ...infoDeclarations,
  ...lifecycleDeclarations,
  ...metricsDeclarations,
  ...randomDeclarations,
  ...keyDeclarations,
  ...keyAttributeDeclarations,
  ...keyUseDeclarations,
  ...namespaceDeclarations,
  ...userDeclarations,
  ...userTagDeclarations,
  ...configDeclarations,
  ...auditDeclarations,
  ...configTlsDeclarations,
  ...configNetworkDeclarations,
  ...configVocabularyDeclarations,
  ...backupDeclarations,
  ...systemDeclarations,
  ...updateDeclarations,
  ...clusterDeclarations,
]

/** Without a boot manager, in tests: whatever is asked for is as good as done. */
const ON_ITS_OWN: Machine = { request: async () => {}, slot: async () => {}, hear: () => {} }

export function createApp(options: AppOptions): Api {
  const { appliance, log, limiter, info, releaseKey = null } = options
  const { product, version } = info
  const machine = options.machine ?? ON_ITS_OWN
  const services: Services = {
    appliance,
    log,
    info,
    random: options.random ?? systemRandom,
    activity: { generate: 0, sign: 0, decrypt: 0, encrypt: 0 },
    traffic: options.traffic ?? createTraffic(),
    runtime: watchRuntime(),
    machine,
    stager: createStager({ machine, releaseKey, product, version, log }),
  }
  return createApi<Services>({
    declarations: DECLARATIONS,
    services,
    state: () => appliance.state,
    // While Failed the store is closed: nothing could tell a right passphrase from a wrong one.
    authenticate: (userId, passphrase, place) =>
      appliance.state === 'Failed' ? null : appliance.open().authenticate(userId, passphrase, place),
    recall: (userId, passphrase) => (appliance.state === 'Failed' ? null : appliance.open().recall(userId, passphrase)),
    era: () => appliance.era,
    onEra: (listener) => appliance.onEra(listener),
    isCurrent: (caller) => appliance.open().users.isCurrent(caller),
    admit: ({ namespace }) => appliance.open().namespaces.exists(namespace),
    limiter,
    log,
    audit: options.auditor ?? auditorOf(appliance),
    info: { title: info.product, version: info.version, vendor: info.vendor },
  })
}

/** A Failed appliance has no audit log; nothing can be changed in it either. */
const auditorOf = (appliance: Appliance): Auditor<Services> => ({
  expectRoom: () => appliance.audit?.expectRoom(),
  record(attempt, status) {
    const event = auditEvent(attempt, status, formatTime(appliance.clock.now()))
    return appliance.audit?.record(event, kindOf(attempt, status), attempt.caller?.userId)
  },
})
