/** The chat as the appliance's API asks for it. Contract section 3.8 of the appliance. */

import type { NewOrganization, OperatorChanges, OperatorSettings, Statistics } from './link.ts'

export interface ChatService {
  readonly state: 'none' | 'starting' | 'running' | 'failed'
  /** The reason when it is failed. */
  readonly problem: string | null
  /** Where it listens; null while it does not. */
  readonly port: number | null
  /** Throws `unavailable` unless it is running, like all methods that ask it. */
  figures(): Promise<Statistics>
  /** Throws `conflict` where there is one. Wipes the password. */
  createOrganization(organization: NewOrganization, password: Uint8Array): Promise<void>
  /** Throws `notFound` where there is none, `invalid` for another name. Nothing of the organization is left afterwards. */
  deleteOrganization(name: string): Promise<void>
  settings(): Promise<OperatorSettings>
  changeSettings(changes: OperatorChanges): Promise<void>
  /** Throws `notFound`. Wipes the password. */
  recoverOwner(email: string, password: Uint8Array): Promise<void>
}
