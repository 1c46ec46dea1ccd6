/**
 * Ensures one boot manager per data directory with an advisory lock (flock(2)) on a file in it.
 * Node has no such call, so flock(1) locks the descriptor. The lock belongs to the open file, not to a process: the firmware
 * inherits the descriptor, so that after a crash of the boot manager the next one waits until the old firmware has ended.
 */

import { spawnSync } from 'node:child_process'
import { openSync } from 'node:fs'

// An orphaned firmware closes its store when the channel breaks.
const ORPHAN_WAIT_SECONDS = 5
const LOCKED_BY_OTHER = 75 // a status that flock(1) does not use itself

export class LockError extends Error {}

/** Returns the descriptor with the lock. Throws a LockError if another process holds it. */
export function lockDirectory(path: string): number {
  const file = openSync(`${path}/lock`, 'a', 0o600)
  const { status, error } = spawnSync(
    'flock',
    ['-w', String(ORPHAN_WAIT_SECONDS), '-E', String(LOCKED_BY_OTHER), '3'],
    {
      stdio: ['ignore', 'ignore', 'ignore', file],
    },
  )
  if (status === 0) return file
  if (status === LOCKED_BY_OTHER) throw new LockError(`another Coffer is running on ${path}`)
  throw new LockError(`cannot lock ${path}: flock(1) of util-linux ${error ? 'is not installed' : 'failed'}`)
}
