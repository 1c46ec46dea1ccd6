/** A small file system of its own, which only root can mount. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface SmallDisk {
  readonly path: string
  freeBytes(): number
  /** Another program stores as much as leaves no more than this free. */
  fill(leftBytes: number): void
  clear(): void
  unmount(): void
}

/** Null where this user cannot mount one. The caller unmounts it. */
export function mountSmallDisk(bytes: number): SmallDisk | null {
  const path = mkdtempSync(join(tmpdir(), 'coffer-disk-'))
  const options = ['-t', 'tmpfs', '-o', `size=${bytes},mode=711`, 'coffer-test', path]
  if (spawnSync('mount', options).status !== 0) {
    rmSync(path, { recursive: true })
    return null
  }
  const ballast = join(path, 'ballast')
  const freeBytes = () => {
    const { bavail, bsize } = statfsSync(path)
    return bavail * bsize
  }
  return {
    path,
    freeBytes,
    fill: (leftBytes) => appendFileSync(ballast, new Uint8Array(Math.max(0, freeBytes() - leftBytes))),
    clear: () => rmSync(ballast, { force: true }),
    unmount() {
      assert.equal(spawnSync('umount', [path]).status, 0)
      rmSync(path, { recursive: true })
    },
  }
}
