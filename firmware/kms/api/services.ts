/** Services of the handlers, and shared helpers for declarations. */

import type { Acme } from '../../acme/service.ts'
import type { Alerts } from '../../alerts/service.ts'
import type { Appliance } from '../../appliance/appliance.ts'
import type { Log } from '../../base/log.ts'
import type { ApplianceState } from '../../base/states.ts'
import type { BootManager } from '../../channel/boot-manager.ts'
import type { ChatService } from '../../chat/link/chat-service.ts'
import type { EtcdService } from '../../cluster/etcd/service.ts'
import type { Random } from '../../crypto/random.ts'
import type { Forwarder } from '../../forwarding/forwarder.ts'
import type { Traffic } from '../../http/server/traffic.ts'
import type { OutgoingClient } from '../../outgoing/client.ts'
import type { Stager } from '../../release/stager.ts'
import type { Operational } from '../domain/operational.ts'
import type { WireName } from '../pipeline/dialect.ts'
import { type Declaration, type EndpointAccess, endpoint } from '../pipeline/endpoint.ts'
import type { RuntimeFigures } from './runtime.ts'

/** Vendor, product and version for `GET /info` and the API documents. */
export interface ProductInfo {
  vendor: string
  product: string
  version: string
  build?: string
  /** The version that was tried last and the reason for its rollback. */
  fallback?: string | null
  /** RSA implementation in use, and the reason. */
  engine?: string
}

/** Successful key operations since the start. */
type Activity = Record<'generate' | 'sign' | 'decrypt' | 'encrypt', number>

export interface Services {
  appliance: Appliance
  random: Random
  log: Log
  info: ProductInfo
  activity: Activity
  /** Requests since the start. */
  wireRequests: Record<WireName, number>
  traffic: Traffic
  runtime: RuntimeFigures
  bootManager: BootManager
  /** Absent in tests without etcd. */
  etcd?: EtcdService | undefined
  stager: Stager
  chat?: ChatService | undefined
  /** Absent under an older boot manager. */
  outgoing?: Pick<OutgoingClient, 'probe'> | undefined
  /** Absent in tests without it. */
  acme?: Pick<Acme, 'view' | 'change' | 'renew'> | undefined
  /** Absent in tests without it. */
  alerts?: Pick<Alerts, 'current' | 'mail'> | undefined
  /** Absent under an older boot manager. */
  forwarder?: Pick<Forwarder, 'view'> | undefined
  /** False if the start options disable the web console, regardless of the Administrators' setting. */
  console: boolean
  /** False if network settings are only stored and shown. */
  appliesNetwork: boolean
}

/** Types `endpoint` for these services; request types are inferred from the schemas. */
export const declare = <P, Q, B>(declaration: Declaration<Services, P, Q, B>): Declaration<Services> =>
  endpoint(declaration)

/** Throws `unavailable` if the appliance was locked meanwhile. */
export const domainOf = ({ services }: { services: Services }): Operational => services.appliance.open()

export const OPERATIONAL: readonly ApplianceState[] = ['Operational']

export const ADMINISTRATORS: EndpointAccess = { roles: ['Administrator'], scope: 'any' }
export const OPERATORS: EndpointAccess = { roles: ['Operator'], scope: 'any' }
export const READERS: EndpointAccess = { roles: ['Administrator', 'Operator'], scope: 'any' }
export const ROOT_ADMINISTRATORS: EndpointAccess = { roles: ['Administrator'], scope: 'root' }

export const EMPTY = { status: 204, empty: true } as const

/** For the audit log: which members a change of settings names. Their values may be secret. */
export const changedMembers = ({ body }: { body: object }) => ({ members: Object.keys(body).sort().join(' ') })

export const PEM_TYPE = 'application/x-pem-file'
