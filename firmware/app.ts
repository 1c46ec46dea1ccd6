/** The web application: every endpoint over one appliance. */

import type { Alerts } from './alerts/service.ts'
import type { Appliance } from './appliance/appliance.ts'
import { formatTime } from './base/clock.ts'
import type { Log } from './base/log.ts'
import type { BootManager } from './channel/boot-manager.ts'
import type { EtcdService } from './cluster/etcd/service.ts'
import { type Random, systemRandom } from './crypto/random.ts'
import { createTraffic, type Traffic } from './http/server/traffic.ts'
import { accessKeyDeclarations } from './kms/api/access-keys.ts'
import { accountDeclarations } from './kms/api/account.ts'
import { alertDeclarations } from './kms/api/alerts.ts'
import { auditDeclarations } from './kms/api/audit.ts'
import { auditEvent, kindOf } from './kms/api/audit-event.ts'
import { backupDeclarations } from './kms/api/backup.ts'
import { chatDeclarations } from './kms/api/chat.ts'
import { clusterDeclarations } from './kms/api/cluster.ts'
import { configDeclarations } from './kms/api/config.ts'
import { configAcmeDeclarations } from './kms/api/config-acme.ts'
import { configConsoleDeclarations, isConsoleOn } from './kms/api/config-console.ts'
import { configInterfacesDeclarations } from './kms/api/config-interfaces.ts'
import { configMailDeclarations } from './kms/api/config-mail.ts'
import { configNetworkDeclarations } from './kms/api/config-network.ts'
import { configOutgoingDeclarations } from './kms/api/config-outgoing.ts'
import { configSyslogDeclarations } from './kms/api/config-syslog.ts'
import { clusterTlsDeclarations, configTlsDeclarations } from './kms/api/config-tls.ts'
import { configVocabularyDeclarations } from './kms/api/config-vocabulary.ts'
import { infoDeclarations } from './kms/api/info.ts'
import { keyAttributeDeclarations } from './kms/api/key-attributes.ts'
import { keyUseDeclarations } from './kms/api/key-use.ts'
import { keyVersionDeclarations } from './kms/api/key-versions.ts'
import { keyDeclarations } from './kms/api/keys.ts'
import { lifecycleDeclarations } from './kms/api/lifecycle.ts'
import { metricsDeclarations } from './kms/api/metrics.ts'
import { namespaceDeclarations } from './kms/api/namespaces.ts'
import { randomDeclarations } from './kms/api/random.ts'
import { watchRuntime } from './kms/api/runtime.ts'
import type { ProductInfo, Services } from './kms/api/services.ts'
import { systemDeclarations } from './kms/api/system.ts'
import { updateDeclarations } from './kms/api/update.ts'
import { userTagDeclarations } from './kms/api/user-tags.ts'
import { userDeclarations } from './kms/api/users.ts'
import { type ConsoleFiles, consoleDeclarations } from './kms/documents/console-endpoints.ts'
import { documentDeclarations } from './kms/documents/documents.ts'
import type { Auditor } from './kms/pipeline/auditor.ts'
import type { Declaration } from './kms/pipeline/endpoint.ts'
import { BASE_PATH } from './kms/pipeline/endpoint.ts'
import { type Api, createApi } from './kms/pipeline/pipeline.ts'
import { transitDialect } from './kms/transit/dialect.ts'
import { OPENAPI_PATH } from './kms/transit/documents.ts'
import { createStager } from './release/stager.ts'

export interface AppOptions {
  appliance: Appliance
  log: Log
  info: ProductInfo
  /** Filled by the listener. */
  traffic?: Traffic
  /** Without one, nothing is asked of the boot manager. */
  bootManager?: BootManager
  /** Without one, or without its program, there is no clustering. */
  etcd?: EtcdService
  /** Updates are refused without. */
  releaseKey?: Uint8Array | null
  chat?: Services['chat']
  outgoing?: Services['outgoing']
  acme?: Services['acme']
  alerts?: Alerts
  forwarder?: Services['forwarder']
  /** The page for browsers; null where there is none. */
  consoleFiles?: ConsoleFiles | null
  /** False: it is not served, whatever Administrators set. */
  console?: boolean | undefined
  /** False, the default: no setting of ours changes the address that it is reached at. */
  appliesNetwork?: boolean
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
  ...keyVersionDeclarations,
  ...keyUseDeclarations,
  ...namespaceDeclarations,
  ...userDeclarations,
  ...userTagDeclarations,
  ...accessKeyDeclarations,
  ...accountDeclarations,
  ...configDeclarations,
  ...auditDeclarations,
  ...configTlsDeclarations,
  ...configNetworkDeclarations,
  ...configVocabularyDeclarations,
  ...configConsoleDeclarations,
  ...configOutgoingDeclarations,
  ...configAcmeDeclarations,
  ...configSyslogDeclarations,
  ...configMailDeclarations,
  ...configInterfacesDeclarations,
  ...backupDeclarations,
  ...systemDeclarations,
  ...alertDeclarations,
  ...updateDeclarations,
  ...clusterDeclarations,
  ...clusterTlsDeclarations,
  ...chatDeclarations,
]

const OTHER_APIS = [{ name: 'The transit API, while it is switched on', path: OPENAPI_PATH }]

/** Without a boot manager, in tests: whatever is asked for is as good as done. */
const ON_ITS_OWN: BootManager = { request: async () => {}, slot: async () => {}, receive: () => {} }

export function createApp(options: AppOptions): Api {
  const { appliance, log, info, alerts, releaseKey = null, consoleFiles = null } = options
  const { product, version } = info
  const described = { title: product, version, vendor: info.vendor }
  const bootManager = options.bootManager ?? ON_ITS_OWN
  const services: Services = {
    appliance,
    log,
    info,
    random: options.random ?? systemRandom,
    activity: { generate: 0, sign: 0, decrypt: 0, encrypt: 0 },
    wireRequests: { nethsm: 0, transit: 0 },
    traffic: options.traffic ?? createTraffic(),
    runtime: watchRuntime(),
    bootManager,
    etcd: options.etcd,
    stager: createStager({
      ...{ bootManager, releaseKey, product, version, log },
      onEnd: (isDone) => alerts?.noteUpdate(isDone),
    }),
    chat: options.chat,
    outgoing: options.outgoing,
    acme: options.acme,
    alerts,
    forwarder: options.forwarder,
    console: options.console ?? true,
    appliesNetwork: options.appliesNetwork ?? false,
  }
  return createApi<Services>({
    declarations: DECLARATIONS,
    others: [
      ...documentDeclarations<Services>(DECLARATIONS, { ...described, others: OTHER_APIS }, BASE_PATH),
      ...(consoleFiles === null ? [] : consoleDeclarations(consoleFiles, isConsoleOn)),
    ],
    dialects: [transitDialect(log, { ...described, title: `${product} transit` })],
    services,
    state: () => appliance.state,
    // While Failed the store is closed: nothing could tell a right passphrase from a wrong one.
    authenticate: (userId, passphrase, place) =>
      appliance.state === 'Failed' ? null : appliance.open().authenticate(userId, passphrase, place),
    recall: (userId, passphrase) => (appliance.state === 'Failed' ? null : appliance.open().recall(userId, passphrase)),
    epoch: () => appliance.epoch,
    onEpochEnd: (listener) => appliance.onEpochEnd(listener),
    isCurrent: (caller) => appliance.open().users.isCurrent(caller),
    namespaceExists: ({ namespace }) => appliance.open().namespaces.exists(namespace),
    nodes: () => appliance.replica,
    limiter: appliance.limiter,
    log,
    onRequest: (wire) => {
      services.wireRequests[wire]++
    },
    audit: options.auditor ?? auditorOf(appliance),
    expectRoom: (caller) => appliance.expectRoom(caller?.namespace ? 'namespaces' : 'records'),
  })
}

/** A Failed appliance has no audit log; nothing can be changed in it either. */
const auditorOf = (appliance: Appliance): Auditor<Services> => ({
  expectRoom(kind, caller) {
    if (kind === 'use') appliance.audit?.expectRoom()
    // Operators change their passphrases and nothing else, and Backup users make backups.
    if (kind === 'change' && caller !== undefined && caller.role !== 'Administrator')
      appliance.audit?.expectBudget(caller.userId)
  },
  record(attempt, status) {
    const event = auditEvent(attempt, status, formatTime(appliance.clock.now()))
    return appliance.audit?.record(event, kindOf(attempt, status), attempt.caller?.userId)
  },
})
