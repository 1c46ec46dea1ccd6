/** The data directory of a host: made if need be, and refused in one line where it cannot be used. */

import { accessSync, constants, mkdirSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { getSystemErrorMessage } from 'node:util'
import { SettingsError } from '../base/settings-error.ts'

/** What Coffer and its tools (`make image`, `make qemu`, `make cluster`) have in a data directory. */
const OURS = [
  ...['store', 'device.key', 'release.pub', 'slots', 'factory-reset'],
  ...['development.key', 'development.pub', 'qemu', 'cluster'],
]
/** What a file system of its own begins with, and all that a first start which was cut short may leave. */
const ANYBODYS = ['lost+found', 'lock']
const STICKY = 0o1000 // everybody may put files there: inode(7)

/** Its real path. Throws a SettingsError that says why it cannot be used. */
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

/** Of the system, as / and /tmp are, or with somebody's files: it would be closed to all others, or opened as a passage. */
function isOfOthers(directory: string): boolean {
  const entries = readdirSync(directory)
  if (entries.some((name) => OURS.includes(name))) return false
  return entries.some((name) => !ANYBODYS.includes(name)) || (statSync(directory).mode & STICKY) !== 0
}

/** One after the other: Node's own way never ends in a file system that takes no directories, such as /proc. */
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
