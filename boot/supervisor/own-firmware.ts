/** The firmware that came with this boot manager. */

import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface InstalledFirmware {
  /** The file to run. */
  program: string
  /** Files and directories (ending in a slash) it may read besides its store. */
  readable: readonly string[]
}

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

/** The chat of the same version. */
export const chatProgramOf = (firmware: string): string =>
  join(dirname(firmware), firmware.endsWith('.js') ? 'chat.js' : 'chat/process/main.ts')

/** The bundle has the firmware beside the boot manager; in development it runs from its sources. */
export function ownFirmware(): InstalledFirmware {
  if (import.meta.url.endsWith('.js')) return { program: path('./firmware.js'), readable: [path('./')] }
  return {
    program: path('../../firmware/main.ts'),
    readable: [
      path('../../firmware/'),
      path('../'),
      path('../../node_modules/'),
      path('../../package.json'),
      '/proc/self/maps', // where better-sqlite3 looks which of its binaries fits; the bundle has it decided
    ],
  }
}
