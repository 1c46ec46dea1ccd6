/** Once a version that is good has opened the store, that start is kept there and counted, so that older data are noticed. */

import type { ToFirmware } from '../firmware/channel/protocol.ts'
import type { Starts } from './platform.ts'

export interface StartCount {
  /** A firmware is being started. */
  begin(): void
  /** The store is open, and what has opened it is good. */
  keep(): void
  /** The store holds this count. */
  kept(count: number): void
}

interface StartCountOptions {
  /** Null where nothing counts; known only once there is a device key. */
  starts: () => Starts | null
  send: (message: ToFirmware) => void
  print: (text: string) => void
}

export function createStartCount({ starts, send, print }: StartCountOptions): StartCount {
  /** The firmware that runs has been told how far we are. */
  let isKept = false
  return {
    begin() {
      isKept = false
    },
    keep() {
      const start = starts()?.current ?? null
      if (isKept || start === null) return
      isKept = true
      send({ type: 'keep', ...start })
    },
    kept(count) {
      const problem = starts()?.count(count) ?? null
      if (problem !== null)
        print(`This start is not counted, so what is put back of it would go unnoticed: ${problem}.`)
    },
  }
}
