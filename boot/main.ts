/** The boot manager on a developer's machine. */

import { preventCoreFiles } from './base/core-files.ts'
import { SettingsError } from './base/settings-error.ts'
import { LockError } from './host/directory-lock.ts'
import { openHost } from './host/host-platform.ts'
import { readSettings } from './host/settings.ts'
import { run } from './manager.ts'

try {
  const platform = openHost(readSettings(process.env))
  preventCoreFiles()
  run(platform)
} catch (error) {
  if (!(error instanceof SettingsError || error instanceof LockError || isOfTheSystem(error))) throw error
  console.error(`Coffer does not start: ${error.message}.`)
  process.exitCode = 1
}

/** True for system errors, such as a full disk or a missing permission. Their messages name the call and the path. */
function isOfTheSystem(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error
}
