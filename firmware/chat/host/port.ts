/** Port of the chat: on a device an Administrator chooses it, on a host it is fixed. Contract section 3.8 of the appliance. */

import { CofferError } from '../../base/error.ts'
import type { ChatPlace } from '../../channel/protocol.ts'
import { type DeviceRecords, readText, writeText } from '../../configuration/device-records.ts'
import { CHAT_PORT } from '../../store/device-area.ts'

interface ChatPort {
  readonly current: number
  /** Undefined where the port is fixed. */
  readonly chosen: number | undefined
  /** Throws `unavailable` where the port is fixed, `invalid` for a port that cannot be chosen. */
  expect(port: number): void
  /** Throws as `expect` does. */
  choose(port: number): void
}

export function createChatPort(records: DeviceRecords, { port, portChoices }: ChatPlace): ChatPort {
  const chosen = (): number | undefined => {
    if (portChoices === undefined) return undefined
    const stored = Number(readText(records, CHAT_PORT) ?? port)
    return portChoices.includes(stored) ? stored : port
  }
  function expect(wanted: number): void {
    if (portChoices === undefined)
      throw new CofferError('unavailable', 'Cannot choose a port here: COFFER_CHAT_PORT sets it')
    if (!portChoices.includes(wanted)) throw new CofferError('invalid', `port must be ${portChoices.join(' or ')}`)
  }

  return {
    get current() {
      return chosen() ?? port
    },
    get chosen() {
      return chosen()
    },
    expect,
    choose(wanted) {
      expect(wanted)
      writeText(records, CHAT_PORT, `${wanted}`)
    },
  }
}
