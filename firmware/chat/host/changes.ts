/** Changes of which the chat has one at a time. While one is made, nothing is done by itself. */

import { CofferError } from '../../base/error.ts'

export interface Changes {
  readonly isUnderWay: boolean
  /** Throws `busy` while one is made. Gives what ends it, and is told whether another process has to come. */
  begin(): (isRenewed: boolean) => void
  exclusively<T>(change: () => Promise<T>): Promise<T>
  /** What goes on by itself, and has nothing to follow it. */
  quietly(work: () => Promise<void>): Promise<void>
}

/** `onEnd` hears whether another process has to come, as also when the `era` in which the change began is over. */
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
