/** One section of the answer of `POST /register`. Contract section 4.2. */

import type { Shape } from '../events/shapes.ts'
import type { Realm } from '../realm/model/realm.ts'
import type { User } from '../realm/model/records.ts'

export interface OpenContext {
  readonly realm: Realm
  /** Capabilities of the client, the same as for the events of its queue. */
  readonly shape: Shape
  /** True if the client also fetches the section `block`. Some sections depend on others. */
  wants(block: string): boolean
  readonly includeSubscribers: 'true' | 'false' | 'partial'
  readonly presenceHistoryLimitDays: number
  readonly host: string | undefined
  readonly generation: number
}

interface RegisterContext extends OpenContext {
  readonly me: User
}

/** Returns the members that the section adds to the answer. They must agree with the events of the same name. */
export type RegisterSection = (context: RegisterContext) => Readonly<Record<string, unknown>>

export type OpenRegisterSection = (context: OpenContext) => Readonly<Record<string, unknown>>
