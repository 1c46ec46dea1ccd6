/** Counts a start once a good version has opened the store, and records it there, so that older data are detected. */

import type { ToFirmware } from '../firmware/channel/protocol.ts'
import type { Starts } from './platform.ts'

export interface StartCount {
  begin(): void
  /** Call it when a good version has opened the store. */
  keep(): void
  /** Call it when the store has recorded this count. */
  kept(count: number): void
}

interface StartCountOptions {
  /** Null if the platform has no counter; available once there is a device key. */
  starts: () => Starts | null
  send: (message: ToFirmware) => void
  print: (text: string) => void
}

export function createStartCount({ starts, send, print }: StartCountOptions): StartCount {
  /** True if the running firmware has received the count. */
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
        print(`Cannot count this start, so an older copy of the store would go unnoticed: ${problem}.`)
    },
  }
}
