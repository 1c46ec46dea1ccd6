/** What the handlers work with, and the forms of declarations all of them share. */

import type { Appliance } from '../../appliance/appliance.ts'
import type { Log } from '../../base/log.ts'
import type { ApplianceState } from '../../base/states.ts'
import type { BootManager } from '../../channel/boot-manager.ts'
import type { ChatService } from '../../chat/link/chat-service.ts'
import type { EtcdService } from '../../cluster/etcd/service.ts'
import type { Random } from '../../crypto/random.ts'
import type { Traffic } from '../../http/server/traffic.ts'
import type { Stager } from '../../release/stager.ts'
import type { Operational } from '../domain/operational.ts'
import { type Declaration, type EndpointAccess, endpoint } from '../pipeline/endpoint.ts'
import type { RuntimeFigures } from './runtime.ts'

/** Names and version, as `GET /info` and the API documents show them. */
export interface ProductInfo {
  vendor: string
  product: string
  version: string
  /** Tells builds of one version apart. */
  build?: string
  /** Which version was tried last and why it was left. */
  fallback?: string | null
  /** The RSA arithmetic in use, and why. */
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
  traffic: Traffic
  runtime: RuntimeFigures
  bootManager: BootManager
  /** Absent in tests that have none. */
  etcd?: EtcdService | undefined
  stager: Stager
  /** Absent where there is no place for one. */
  chat?: ChatService | undefined
  /** False where whoever started the appliance wants no page for browsers, whatever its Administrators say. */
  console: boolean
  /** False where the network settings are kept and shown, and nothing else. */
  appliesNetwork: boolean
}

/** `endpoint` for these services; what a request carries is inferred from its schemas. */
export const declare = <P, Q, B>(declaration: Declaration<Services, P, Q, B>): Declaration<Services> =>
  endpoint(declaration)

/** The domain; throws `unavailable` when a lock came between. */
export const domainOf = ({ services }: { services: Services }): Operational => services.appliance.open()

export const OPERATIONAL: readonly ApplianceState[] = ['Operational']

export const ADMINISTRATORS: EndpointAccess = { roles: ['Administrator'], scope: 'any' }
export const OPERATORS: EndpointAccess = { roles: ['Operator'], scope: 'any' }
export const READERS: EndpointAccess = { roles: ['Administrator', 'Operator'], scope: 'any' }
export const ROOT_ADMINISTRATORS: EndpointAccess = { roles: ['Administrator'], scope: 'root' }

export const EMPTY = { status: 204, empty: true } as const

export const PEM_TYPE = 'application/x-pem-file'
