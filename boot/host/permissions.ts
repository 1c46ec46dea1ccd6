/** Nobody but who runs Coffer reads or writes its data: what is ours is mended, with a line; what is not is refused. */

import { chmodSync, readdirSync, statSync } from 'node:fs'
import { SettingsError } from '../base/settings-error.ts'

const READ_OR_WRITE = 0o066 // to pass through a directory without these shows nothing of it
const WRITE = 0o022
const ANY = 0o077
const STICKY = 0o1000 // many may write here, each what is his: inode(7)

/** What Coffer and its tools (`make image`, `make qemu`) have in a data directory. */
const OURS = [
  'store',
  'device.key',
  'release.pub',
  'slots',
  'factory-reset',
  'development.key',
  'development.pub',
  'qemu',
]
/** What a file system of its own begins with. */
const NOBODYS = ['lost+found']

/**
 * `firmwareId` is who may own the store besides us, `chatId` who the chat's directory. Throws a SettingsError that names what belongs to somebody else, or
 * what others may read or write and we cannot change.
 */
export function checkPermissions(
  directory: string,
  { firmwareId, chatId }: { firmwareId: number | null; chatId: number | null },
  say: (text: string) => void,
): void {
  const us = process.geteuid!()
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

  refuseSharedDirectory(directory)
  check(directory, READ_OR_WRITE)
  if (check(`${directory}/device.key`, ANY))
    say('Anyone who read device.key before can open this store while unattended boot is on, and read its audit log.')
  check(`${directory}/store`, ANY, [us, firmwareId])
  check(`${directory}/chat`, ANY, [us, chatId])
  for (const name of ['slots', 'release.pub', 'lock']) check(`${directory}/${name}`, WRITE)
}

/** A directory of the system, /tmp or somebody's files: to close it to others would take it from them. */
function refuseSharedDirectory(directory: string): void {
  const { mode } = statSync(directory)
  if ((mode & READ_OR_WRITE) === 0) return
  const entries = readdirSync(directory).filter((name) => !NOBODYS.includes(name))
  if (entries.some((name) => OURS.includes(name))) return
  if (entries.length === 0 && (mode & STICKY) === 0) return
  throw new SettingsError(
    `the data directory ${directory} cannot be used: others use it (mode ${octal(mode)}), and it holds nothing of Coffer's; ` +
      'COFFER_DATA chooses another',
  )
}

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

const octal = (mode: number): string => (mode & 0o7777).toString(8).padStart(3, '0')
