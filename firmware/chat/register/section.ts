/** One block of the answer of `POST /register`. Contract section 4.2. */

import type { Shape } from '../events/shapes.ts'
import type { Realm } from '../realm/model/realm.ts'
import type { User } from '../realm/model/records.ts'

/** For whoever asks, with an account or without. */
export interface OpenContext {
  readonly realm: Realm
  /** What the client can take, as events of its queue see it. */
  readonly shape: Shape
  /** Of one block depends on another: `wants('user_topic')` is whether it is fetched, too. */
  wants(block: string): boolean
  readonly includeSubscribers: 'true' | 'false' | 'partial'
  readonly presenceHistoryLimitDays: number
  readonly host: string | undefined
  readonly generation: number
}

interface RegisterContext extends OpenContext {
  readonly me: User
}

/** The members that the block adds to the answer. It must be in accord with the events of the same name. */
export type RegisterSection = (context: RegisterContext) => Readonly<Record<string, unknown>>

/** One that is the same for everybody. */
export type OpenRegisterSection = (context: OpenContext) => Readonly<Record<string, unknown>>
