/** The data directory of a host: made if need be, and refused in one line where it cannot be used. */

import { accessSync, constants, mkdirSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { getSystemErrorMessage } from 'node:util'
import { SettingsError } from '../base/settings-error.ts'

/** Its real path. Throws a SettingsError that says why it cannot be used. */
export function openDataDirectory(path: string): string {
  try {
    makeDirectory(path)
    const directory = realpathSync(path)
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK)
    return directory
  } catch (error) {
    throw new SettingsError(`the data directory ${path} cannot be used: ${explain(error)}; COFFER_DATA chooses another`)
  }
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
