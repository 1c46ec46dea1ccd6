/** The data directory of a host: created if necessary, refused with a reason if unusable. */

import { accessSync, constants, mkdirSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { getSystemErrorMessage } from 'node:util'
import { SettingsError } from '../base/settings-error.ts'

/** Entries that Coffer and its tools (`make image`, `make qemu`, `make cluster`) create. */
const OURS = [
  ...['store', 'device.key', 'release.pub', 'slots', 'factory-reset'],
  ...['development.key', 'development.pub', 'qemu', 'cluster'],
]
/** Entries of a new file system, and of an interrupted first start. */
const ANYBODYS = ['lost+found', 'lock']
const STICKY = 0o1000 // all users can create files there: inode(7)

/** Returns the real path. Throws a SettingsError with the reason if the directory is unusable. */
export function openDataDirectory(path: string): string {
  try {
    makeDirectory(path)
    const directory = realpathSync(path)
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK)
    if (isOfOthers(directory)) throw refusal(path, "it is there for other things, and holds nothing of Coffer's")
    return directory
  } catch (error) {
    throw error instanceof SettingsError ? error : refusal(path, explain(error))
  }
}

const refusal = (path: string, why: string): SettingsError =>
  new SettingsError(`the data directory ${path} cannot be used: ${why}; COFFER_DATA chooses another`)

/**
 * True for system directories such as / and /tmp, and directories with other files: using one would change its permissions for
 * all users.
 */
function isOfOthers(directory: string): boolean {
  const entries = readdirSync(directory)
  if (entries.some((name) => OURS.includes(name))) return false
  return entries.some((name) => !ANYBODYS.includes(name)) || (statSync(directory).mode & STICKY) !== 0
}

/** Creates parents one by one: Node's recursive mode never returns in a file system without directories to create, such as /proc. */
function makeDirectory(path: string): void {
  const existing = statSync(path, { throwIfNoEntry: false })
  if (existing?.isDirectory()) return
  if (existing === undefined) makeDirectory(dirname(path))
  mkdirSync(path, { mode: 0o700 })
}

function explain(error: unknown): string {
  const { code, errno, path } = error as NodeJS.ErrnoException
  if (errno === undefined) throw error
  const place = path === undefined ? '' : ` (${path})`
  return (code === 'EEXIST' ? 'it is not a directory' : getSystemErrorMessage(errno)) + place
}
