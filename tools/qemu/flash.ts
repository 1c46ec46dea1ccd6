/** Putting an image on a disk, as dd(1) puts it on a real one: the disk is larger, and what is zero takes no room. */

import { execFileSync } from 'node:child_process'
import { renameSync, truncateSync } from 'node:fs'

export const DISK_BYTES = 1024 ** 3 // the data partition grows to its end at the first start

/** The disk appears when it is whole. */
export function flash(image: string, disk: string, bytes: number = DISK_BYTES): void {
  const unfinished = `${disk}.new`
  execFileSync('cp', ['--sparse=always', '--reflink=auto', '--', image, unfinished])
  truncateSync(unfinished, bytes)
  renameSync(unfinished, disk)
}
