/** The chat's end of the audit log: what is told to the appliance, and whether it is kept. */

import { CofferError } from '../../base/error.ts'
import type { ChatAuditEvent } from '../link/chat-audit-event.ts'
import type { FromChat, ToChat } from '../link/link.ts'

interface AuditReporter {
  /** Of what was done, resolves when the appliance has it on disk; throws `storage` when the disk does not take it. */
  record(act: ChatAuditEvent): Promise<void> | undefined
  /** The appliance's answer. */
  hear(recorded: Extract<ToChat, { type: 'recorded' }>): void
}

export function createAuditReporter(send: (message: Extract<FromChat, { type: 'act' }>) => void): AuditReporter {
  const waiting = new Map<number, { resolve: () => void; reject: (error: Error) => void }>()
  let next = 1

  return {
    record(act) {
      const id = next++
      send({ type: 'act', id, act })
      if (act.result >= 400) return undefined
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      waiting.set(id, { resolve, reject })
      return promise
    },
    hear({ id, isKept }) {
      const asked = waiting.get(id)
      waiting.delete(id)
      if (isKept) asked?.resolve()
      else asked?.reject(new CofferError('storage', 'The audit log cannot be written'))
    },
  }
}
