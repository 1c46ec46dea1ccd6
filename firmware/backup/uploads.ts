/** Backups that are being received. Several at a time: a slow or silent sender keeps nobody from restoring another one. */

import type { DiskSpace } from '../base/disk-space.ts'
import { CofferError } from '../base/error.ts'
import { createSpool, type Spool } from './spool.ts'

/** One more takes the place of the slowest. */
const UPLOADS_MAX = 8

/** Share of the room on the disk: the restored records need as much again. */
const DISK_SHARE = 1 / 2

export interface RestoreUploads {
  /** A place for an upload. The caller closes it. `refuse` is called when another one is to have it. */
  receive(refuse: (error: CofferError) => void): Spool
}

interface Running {
  spool: Spool
  startedMs: number
  refuse: (error: CofferError) => void
}

export function createUploads(dataDirectory: string, space: DiskSpace): RestoreUploads {
  const running = new Set<Running>()

  function makeRoom(bytes: number): void {
    const taken = running.values().reduce((sum, { spool }) => sum + spool.length, 0)
    if (taken + bytes > (space.roomFor('records') + taken) * DISK_SHARE)
      throw new CofferError('tooLarge', 'The disk is full: this backup would leave too little room')
  }

  function displace(): void {
    const nowMs = performance.now()
    const bytesPerMs = ({ spool, startedMs }: Running) => spool.length / (nowMs - startedMs)
    const slowest = [...running].reduce((a, b) => (bytesPerMs(b) < bytesPerMs(a) ? b : a))
    running.delete(slowest)
    slowest.refuse(new CofferError('busy', 'Other backups are being restored, try again'))
  }

  return {
    receive(refuse) {
      if (running.size === UPLOADS_MAX) displace()
      const spool = createSpool(dataDirectory, makeRoom)
      const upload = { spool, startedMs: performance.now(), refuse }
      running.add(upload)
      return {
        receive: spool.receive,
        source: spool.source,
        get length() {
          return spool.length
        },
        close: () => {
          running.delete(upload)
          spool.close()
        },
      }
    },
  }
}
