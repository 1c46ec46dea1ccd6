/** Directories of the users that the firmware, its chat and etcd run as. What those have once, they can change while we look at it. */

import { chmodSync, lchownSync, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const CLOSED = 0o700

/**
 * With all that is in it, and never a file that has another name elsewhere. A directory goes last: until then nobody else can put
 * a link into it. What is his is left to him. `id`: user and group; null is us, to whom what is in it need not be given.
 */
export function giveTo(directory: string, id: number | null): void {
  if (id === null) takeBack(directory)
  else if (lstatSync(directory).uid !== id) {
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const path = join(directory, entry.name)
      if (entry.isDirectory()) giveTo(path, id)
      else if (lstatSync(path).nlink === 1) lchownSync(path, id, id)
    }
    lchownSync(directory, id, id)
  }
}

/** So that what we make in it goes with it when it is given again. */
function takeBack(directory: string): void {
  const us = process.geteuid!()
  if (lstatSync(directory).uid === us) return
  lchownSync(directory, us, process.getegid!())
  chmodSync(directory, CLOSED)
}
