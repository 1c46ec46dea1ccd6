/** The log is told when the disk becomes low or full, and when there is room again. */

import { type DiskSpace, type DiskState, describeDisk } from './base/disk-space.ts'
import { CofferError } from './base/error.ts'
import type { Log } from './base/log.ts'

const INTERVAL_MS = 10_000
/** Space that comes and goes, as that of a log of SQLite, is no news. */
const BETTER_LOOKS = 6

interface DiskWatch {
  /** The timer calls it. */
  look(): void
  stop(): void
}

export function watchDisk(space: Pick<DiskSpace, 'state'>, log: Pick<Log, 'error' | 'warning' | 'info'>): DiskWatch {
  let reported = 0
  let better = 0

  function look(): void {
    let state: DiskState
    try {
      state = space.state()
    } catch (error) {
      if (error instanceof CofferError) return // there may be no store yet; a disk that fails is told by its users
      throw error
    }
    const severity = state.refused.length + Number(state.level === 'full')
    better = severity < reported ? better + 1 : 0
    if (severity === reported || (severity < reported && better < BETTER_LOOKS)) return
    const write = { ok: log.info, low: log.warning, full: log.error }[state.level]
    write('general', describeDisk(state))
    reported = severity
    better = 0
  }

  look()
  const timer = setInterval(look, INTERVAL_MS).unref()
  return { look, stop: () => clearInterval(timer) }
}
