/** The chat's side of the audit log: sends events to the appliance and receives confirmations. */

import { CofferError } from '../../base/error.ts'
import type { ChatAuditEvent } from '../link/chat-audit-event.ts'
import type { FromChat, ToChat } from '../link/link.ts'

interface AuditReporter {
  /**
   * Resolves when the appliance has stored the event. Rejects with `storage` if it cannot. Undefined for a refusal, which nothing waits
   * for.
   */
  record(act: ChatAuditEvent): Promise<void> | undefined
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
