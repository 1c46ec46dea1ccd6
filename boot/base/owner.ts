/**
 * Ownership of directories for the firmware, its chat and etcd. These processes can change the content of their directories at
 * any time.
 */

import { chmodSync, lchownSync, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { defined } from '../../firmware/base/defined.ts'

const CLOSED = 0o700

/**
 * Gives a directory and its content to a user, except files with several hard links. A directory changes its owner after its
 * content: until then no other user can put a link into it. Directories that the user owns already are not entered. `id` is user
 * and group. Null takes back the directory itself, without its content.
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

/** Effective user and group. Coffer runs on Linux only, where Node has both functions. */
export const currentUser = (): { uid: number; gid: number } => ({
  uid: defined(process.geteuid?.()),
  gid: defined(process.getegid?.()),
})

/** Takes back the directory, so that a later `giveTo` also covers files that the boot manager creates in it. */
function takeBack(directory: string): void {
  const { uid, gid } = currentUser()
  if (lstatSync(directory).uid === uid) return
  lchownSync(directory, uid, gid)
  chmodSync(directory, CLOSED)
}
