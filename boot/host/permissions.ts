/**
 * Ensures that only the user of Coffer can read or write its data. Corrects permissions of its own files with a notice; refuses
 * files of other users.
 */

import { chmodSync, statSync } from 'node:fs'
import { currentUser } from '../base/owner.ts'
import { SettingsError } from '../base/settings-error.ts'

const READ_OR_WRITE = 0o066 // search permission without these reveals no content
const WRITE = 0o022
const ANY = 0o077
const ALL_BUT_ENTER = 0o027

/**
 * `firmwareId` may also own the store, `chatId` the chat's directory, and `etcdId` etcd's directory, which the firmware's group
 * may enter. Throws a SettingsError with the path if another user owns it, or if its permissions are too wide and cannot be
 * changed.
 */
export function checkPermissions(
  directory: string,
  { firmwareId, chatId, etcdId }: { firmwareId: number | null; chatId: number | null; etcdId: number | null },
  say: (text: string) => void,
): void {
  const { uid: us } = currentUser()
  const check = (path: string, forbidden: number, owners: readonly (number | null)[] = [us]): boolean => {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found === undefined) return false
    if (!owners.includes(found.uid))
      throw new SettingsError(`${path} belongs to another user (${found.uid}), who could read or replace what is in it`)
    if ((found.mode & forbidden) === 0) return false
    mend(path, found.mode & 0o7777 & ~(forbidden === READ_OR_WRITE ? ANY : forbidden), forbidden)
    say(`${path} was open to other users (mode ${octal(found.mode)}); it no longer is.`)
    return true
  }

  check(directory, READ_OR_WRITE)
  if (check(`${directory}/device.key`, ANY))
    say('Anyone who read device.key before can open this store while unattended boot is on, and read its audit log.')
  check(`${directory}/store`, ANY, [us, firmwareId])
  check(`${directory}/chat`, ANY, [us, chatId])
  check(`${directory}/etcd`, ALL_BUT_ENTER, [us, etcdId])
  if (isOf(us, `${directory}/etcd`)) check(`${directory}/etcd/data`, ANY, [us, etcdId])
  for (const name of ['slots', 'release.pub', 'lock']) check(`${directory}/${name}`, WRITE)
}

/** True if the user owns the path. A directory of another user could contain a link to any file. */
const isOf = (id: number, path: string): boolean => statSync(path, { throwIfNoEntry: false })?.uid === id

function mend(path: string, mode: number, forbidden: number): void {
  let problem = ''
  try {
    chmodSync(path, mode)
  } catch (error) {
    problem = ` (${(error as NodeJS.ErrnoException).code})`
  }
  if ((statSync(path).mode & forbidden) !== 0)
    throw new SettingsError(`other users may read or write ${path}, and that cannot be changed${problem}`)
}

const octal = (mode: number): string => (mode & 0o777).toString(8).padStart(3, '0')
