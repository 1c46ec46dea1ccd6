/** The boot manager on a developer's machine. */

import { preventCoreFiles } from './core-files.ts'
import { openHost } from './host.ts'
import { LockError } from './lock.ts'
import { run } from './manager.ts'
import { readSettings, SettingsError } from './settings.ts'

try {
  const platform = openHost(readSettings(process.env))
  preventCoreFiles()
  run(platform)
} catch (error) {
  if (!(error instanceof SettingsError || error instanceof LockError || isOfTheSystem(error))) throw error
  console.error(`Coffer does not start: ${error.message}.`)
  process.exitCode = 1
}

/** A full disk, a file that is not ours: its message names the call and the path. */
function isOfTheSystem(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error
}
