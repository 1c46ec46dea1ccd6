/** The chat as the appliance's API uses it. Contract section 3.8 of the appliance. */

import type { NewOrganization, OperatorChanges, OperatorSettings, Statistics } from './link.ts'
import type { WebPushSettings } from './web-push.ts'

/** The appliance keeps `webPush`, and tells it to the chat. */
export interface ChatSettings extends OperatorSettings {
  webPush: WebPushSettings | null
}

export interface ChatService {
  readonly state: 'none' | 'starting' | 'running' | 'failed'
  /** Reason of a failure; null without one. */
  readonly problem: string | null
  readonly port: number | null
  /** True if a database was put back to an older copy, or lost changes, by what the chat said when it opened. */
  readonly hasOlderCopies: boolean
  /** Throws `unavailable` unless the chat is running, as do all other methods that query it. */
  figures(): Promise<Statistics>
  /** Throws `conflict` if there is an organization. Wipes the password. */
  createOrganization(organization: NewOrganization, password: Uint8Array): Promise<void>
  /** Deletes all data of the organization. Throws `notFound` without one, and `invalid` for another name. */
  deleteOrganization(name: string): Promise<void>
  settings(): Promise<ChatSettings & { port?: number }>
  /** A change of `port` alone works in every state of the chat. */
  changeSettings(
    changes: OperatorChanges & Partial<Pick<ChatSettings, 'outgoingHosts' | 'webPush'>> & { port?: number },
  ): Promise<void>
  /** Throws `notFound` for an unknown account. Wipes the password. */
  recoverOwner(email: string, password: Uint8Array): Promise<void>
  /** Lets the chat leave room on the disk for an audit log whose size has changed. */
  tellAuditGrowth(): void
}
