/** Images may be made at the same time, and keep what they fetch and compile in the same places. */

import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync } from 'node:fs'

const WAIT_SECONDS_MAX = 1800 // compiling etcd takes minutes, on an old computer more of them

/**
 * Does `work` while no other process does any in this directory, which is made if need be. Node has no call for flock(2), so flock(1)
 * locks our descriptor. The lock ends with the process, however that ends.
 */
export function withLock<T>(directory: string, work: () => T): T {
  mkdirSync(directory, { recursive: true })
  const file = openSync(`${directory}/lock`, 'a')
  try {
    const { status, error } = spawnSync('flock', ['--timeout', `${WAIT_SECONDS_MAX}`, '3'], {
      stdio: ['ignore', 'ignore', 'ignore', file],
    })
    if (status !== 0)
      throw error ?? new Error(`another process has worked in ${directory} for ${WAIT_SECONDS_MAX / 60} minutes`)
    return work()
  } finally {
    closeSync(file)
  }
}
