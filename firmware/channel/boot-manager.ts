/** Requests of the firmware to the boot manager. */

import { CofferError } from '../base/error.ts'
import { assertAuthorized } from '../base/request-authorization.ts'
import type { SlotAnswer, SlotStep, ToBoot, ToFirmware } from './protocol.ts'

export interface BootManager {
  /**
   * Resolves when it is sure to be performed, and throws `storage` when it is not. It is performed at once; answers that
   * are under way still go out.
   */
  request(action: Extract<ToBoot, { type: 'request' }>['action']): Promise<void>
  /** Resolves when the step is done; throws `conflict` or `invalid` with what stood against it. */
  slot(step: SlotStep): Promise<void>
  receive(message: ToFirmware): void
}

export function createBootManager(send: (message: ToBoot) => void): BootManager {
  const waiting: ((answer: SlotAnswer) => void)[] = []
  const requesting: ((problem: string | null) => void)[] = []
  return {
    request: async (action) => {
      assertAuthorized()
      const { promise, resolve } = Promise.withResolvers<string | null>()
      requesting.push(resolve)
      send({ type: 'request', action })
      const problem = await promise
      if (problem !== null) throw new CofferError('storage', problem)
    },
    slot: async (step) => {
      if (step.do === 'finish' || step.do === 'activate') assertAuthorized() // what clears up must not be stopped
      const { promise, resolve } = Promise.withResolvers<SlotAnswer>()
      waiting.push(resolve)
      send({ type: 'slot', step })
      const { problem, conflict } = await promise
      if (problem !== null) throw new CofferError(conflict ? 'conflict' : 'invalid', problem)
    },
    receive: (message) => {
      if (message.type === 'slotResult') waiting.shift()?.(message)
      else if (message.type === 'requestResult') requesting.shift()?.(message.problem)
    },
  }
}
