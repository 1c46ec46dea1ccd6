/** Serializes changes of the chat. During a change nothing is started or stopped automatically. */

import { CofferError } from '../../base/error.ts'

export interface Changes {
  readonly isUnderWay: boolean
  /** Throws `busy` during another change. Returns a function that ends the change; `isRenewed` asks for a new process. */
  begin(): (isRenewed: boolean) => void
  exclusively<T>(change: () => Promise<T>): Promise<T>
  /** Runs automatic work that needs no follow-up. */
  quietly(work: () => Promise<void>): Promise<void>
}

/** `onEnd` learns whether a new process is needed, which is also the case if the epoch has changed since the change began. */
export function createChanges(epoch: () => unknown, onEnd: (isRenewed: boolean) => void): Changes {
  let isUnderWay = false

  function begin(): (isRenewed: boolean) => void {
    if (isUnderWay) throw new CofferError('busy', 'The chat is being changed, try again')
    isUnderWay = true
    const began = epoch()
    return (isRenewed) => {
      isUnderWay = false
      onEnd(isRenewed || epoch() !== began)
    }
  }

  return {
    get isUnderWay() {
      return isUnderWay
    },
    begin,
    async exclusively(change) {
      const end = begin()
      try {
        return await change()
      } finally {
        end(false)
      }
    },
    async quietly(work) {
      isUnderWay = true
      try {
        await work()
      } finally {
        isUnderWay = false
      }
    },
  }
}
